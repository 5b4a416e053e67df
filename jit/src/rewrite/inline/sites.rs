//! Definitions of several stores: the value of the one that goes to an element.
//!
//! The sites come in the order of the elements that an item stores, so the digit of the index that tells them apart is their number. Where that is known of
//! a load, the lines of its site alone are written. Elsewhere the lines of all are, those that they have in common once, and the value is chosen: every item
//! does all of the stores, so each line may be done whichever of them is asked for.

use rspirv::dr::Instruction;
use rspirv::spirv::{Op, Word};

use super::{Copy, Place};
use crate::rewrite::writer::Result;

impl Copy<'_> {
    /// The value that the store of the present element stores.
    pub(super) fn of_site(&mut self, code: &mut Vec<Instruction>, place: &Place) -> Result<Word> {
        let definition = self.defined()?;
        let sites = &definition.sites;
        let first = sites.first().ok_or("no stores")?;
        if let (Some(known), false) = (self.known, sites.len() == 1) {
            let site = sites.get(usize::from(known)).ok_or("no such store")?;
            return self.value(site.value);
        }
        let mut value = self.value(first.value)?;
        if sites.len() == 1 || mutant!(FirstSiteIsEverySite) {
            return Ok(value);
        }
        let ty = self.import.global(&mut self.writer, definition.ty)?;
        if self.writer.is_storage_only(ty) {
            return Err("a value of 8 or 16 bits that one of several stores has");
        }
        if let (None, Place::Element(number)) = (self.dims, place) {
            self.dims = Some(self.digits(code, *number));
        }
        let site = self.site.ok_or("stores that no digit tells apart")?;
        for (number, one) in sites.iter().enumerate().skip(1) {
            let number = self.writer.constant(number as u32);
            let is = self.writer.test(code, Op::IEqual, site, number);
            let is = self.for_all_parts(code, is, definition.ty);
            let operands = [is, self.value(one.value)?, value];
            value = self.writer.apply(code, Op::Select, ty, &operands);
        }
        Ok(value)
    }

    /// A condition as one that chooses values of a type: before version 1.4 a vector is chosen by a vector.
    pub(super) fn for_all_parts(&mut self, code: &mut Vec<Instruction>, condition: Word, ty: Word) -> Word {
        let Some((_, count)) = self.import.vector_of(ty) else { return condition };
        let truth = self.writer.bool();
        let several = self.writer.vector(truth, count);
        self.writer.apply(code, Op::CompositeConstruct, several, &vec![condition; count as usize])
    }
}
