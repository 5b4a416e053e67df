//! Rules of the analysis that can be weakened one at a time, to see that tests notice.
//!
//! Each rule reads its switch where it is applied (`mutant!(Rule)`). In a build without the feature
//! `mutation` the switch is the constant `false`. A mutant is active on one thread only.
//!
//! What is computed once and kept with a kernel (its analysis, its variants) is computed in `kept!`, which records the rules that are
//! read meanwhile. A test that weakens one of these has to load the kernels again, before and after: [`is_kept`].

use std::cell::Cell;

/// A set of rules, a bit for each.
type Rules = [u64; WORDS];

const WORDS: usize = Mutant::ALL.len().div_ceil(64);

thread_local! {
    static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
    /// How many kept values are being made, one inside the other.
    static KEEPING: Cell<u32> = const { Cell::new(0) };
    /// The rules that kept values were made by.
    static KEPT: Cell<Rules> = const { Cell::new([0; WORDS]) };
}

/// Whether this mutant is active on this thread.
pub fn is_active(mutant: Mutant) -> bool {
    if KEEPING.get() > 0 {
        let mut rules = KEPT.get();
        rules[mutant as usize / 64] |= 1 << (mutant as usize % 64);
        KEPT.set(rules);
    }
    ACTIVE.get() == Some(mutant)
}

/// Makes a value that is kept.
pub fn keeping<R>(make: impl FnOnce() -> R) -> R {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            KEEPING.set(KEEPING.get() - 1);
        }
    }
    KEEPING.set(KEEPING.get() + 1);
    let _done = Done;
    make()
}

/// Whether something that this thread has kept since [`forget`] may be another with this rule weakened.
pub fn is_kept(mutant: Mutant) -> bool {
    KEPT.get()[mutant as usize / 64] & 1 << (mutant as usize % 64) != 0
}

/// Says that this thread keeps nothing any more.
pub fn forget() {
    KEPT.set([0; WORDS]);
}

/// Runs `f` with one rule weakened.
pub fn with<R>(mutant: Mutant, f: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            ACTIVE.set(None);
        }
    }
    ACTIVE.set(Some(mutant));
    let _reset = Reset;
    f()
}

macro_rules! mutants {
    ($($name:ident: $what:literal,)*) => {
        /// One weakened rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $(#[doc = $what] $name,)*
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What is weakened.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }
        }
    };
}

mutants! {
    // Index expressions and guards.
    NoWrap: "a word is taken for the number it is congruent to, whatever wraps",
    NoWrapOfIndices: "an index is taken for the number it is congruent to, whatever wraps",
    UnknownIsEqual: "a value that is not expressed counts as equal in all invocations",
    CellsNeverChange: "what is read from memory counts as constant although the list writes it",
    AddressesWriteNoNumbers: "what the host wrote counts as there although a kernel of the list follows addresses",
    CellsAreOne: "what is read from one buffer counts as equal to what is read from another",
    ArmsAreSwapped: "the arm of a selection is bounded by the condition of the other arm",
    WaysAreSwapped: "a branch on the way to a merge that several ways lead to chooses what it does not lead to",
    OneFlagIsAll: "a flag that is set by one of several conditions asks for all of them",
    AnyWordIsABit: "two words that are not zero have bits in common",
    WrappedIsLess: "a word that may have wrapped below zero has not, if it is less than another",
    SelectTakesFirst: "a selection that is not decided takes its first value",
    ExtremumIsFirst: "the least or greatest of two values is the first",
    OneRoundLess: "loops go round once less than they do",
    CounterOutlivesLoop: "a loop counter keeps its meaning after the loop",
    ForgetGuards: "guards bound nothing",
    CasesDoNotFallThrough: "a case of a switch is come to by its own values only",
    AnyNumberExcludes: "a branch that some invocations do not take is one that no one takes",
    EveryRoundSteps: "a counter that some rounds leave as it is has been stepped by all of them",
    AnySkipIsForGood: "who does not step a counter in one round does not in those after, whatever decides it",
    AnyWaySteps: "a round that takes the branches around a step has stepped, whichever way it went",
    WhatHoldsHeldBefore: "what holds in one round of a loop has held in all before",
    AnyMultiplierDivides: "a multiplication and a shift are the division they come next to",
    AnyPartsMakeAWhole: "a quotient and a remainder make up a whole, whatever their weights",
    ForgetConditions: "a write counts as unconditional",
    ConditionsAreFacts: "what makes an access certain has to hold for it to happen",
    InexactIsExact: "conditions that are not expressed count as always true",
    ExtremumIsTheSum: "the greater of two numbers is at least as much as both together",
    // Pairs.
    UnknownIsDisjoint: "an index that cannot be followed meets no one",
    HeaviestDivides: "all larger weights are multiples of the largest one",
    AnyDigitIsZero: "a digit is zero whatever the smaller ones make up: no range condition on injectivity",
    DigitsByOwnWeight: "the smaller digits are those of smaller weight in each offset, whatever they make up in the difference",
    RangesHoldEverywhere: "what one access knows of a quotient counts for the other",
    MergeWithoutFit: "group and local id are joined to the global id although their weights do not fit",
    QuotientsAreWhole: "a form whose quotient is at most so much is at most that times the divisor",
    QuotientIsWhole: "who agrees on a quotient agrees on the whole",
    RemainderIsWhole: "who agrees on a remainder agrees on the whole",
    GroupIsInvocation: "the same work-group counts as the same invocation",
    LocalIsEnough: "agreeing on the local id counts as the same work-group",
    IgnoreSize: "every access touches one byte",
    IgnoreViewOffset: "every view starts where its buffer starts",
    MergeWhateverGuards: "equal offsets under other guards count as one access",
    OverlapsAreFollowed: "bindings of one kernel that overlap in part are followed like others",
    // Hazards.
    IgnoreReadAfterWrite: "a read after a write is no hazard",
    IgnoreWriteAfterRead: "a write after a read is no hazard",
    IgnoreWriteAfterWrite: "a write after a write is no hazard",
    AtomicsAreReads: "atomic operations count as reads",
    ViewsAreApart: "two variables never reach the same byte",
    SampledImagesAreCoherent: "an image that is sampled, or fetched from, is as good as a storage image",
    OneSubgroup: "a work-group has one sub-group, of one invocation",
    EveryLevelIsTheFirst: "the size of any level of an image is that of its first",
    SamplesAreOfOneTexel: "who samples an image reads its first texel",
    ImagesBeginAtTheirView: "views of one image begin at different texels",
    UniformsAreCoherent: "a uniform buffer over memory that another member writes is as good as a storage buffer",
    // Rounds, and values that a plan depends on.
    AnyQuotientEnds: "a loop whose counter is divided ends, whatever it is compared with",
    AnyExitIsATest: "every round that another one follows has passed each of a loop's exits",
    OneWayStepsForAll: "a counter that one way through a round steps is stepped by all of them",
    SteppedIsNotStepped: "a counter that is tested behind its step is tested before it",
    LoopsEndLate: "a counter is behind its loop what it is after the most rounds",
    UnreachableIsReached: "a run may come to what is unreachable",
    AnyDivisorWillDo: "no divisor is zero",
    QuotientsFit: "no signed quotient is too large",
    ConversionsKeepTheWord: "a counter that is converted to more or fewer bits is the same number",
    OneRecurrenceLess: "a loop whose test is run with numbers goes round once less",
    AnyProductEnds: "a loop whose counter is multiplied ends, whether or not the counter wraps to zero",
    AnyValueWillDo: "a plan holds for other numbers in indices and conditions",
    EqualOnceIsEqual: "arguments that share a push constant still share it where they differ",
    ComputedIsPassedOn: "an argument that equals a number of the planner's may be another",
    NoValueIsPlanned: "no index or condition depends on a push constant",
    // Barriers.
    NoBarriers: "no barrier is placed",
    SilentlyWithoutBarriers: "a barrier that was switched off is not listed as trusted",
    OneBarrierIsEnough: "one barrier serves whatever comes after it as well",
    OwnBarriersStay: "a kernel's own barriers do not order what was promoted to shared memory",
    BarriersOrderSharedMemory: "barriers order shared memory alone",
    // Mapping and limits.
    NoRangeGuard: "members with less to do than the dispatch are not guarded",
    PartsAreFromZero: "members of every part begin at the first work-group",
    AnyKernelIsItemOnly: "kernels that know their group are renumbered by invocation",
    IgnoreLoopLimit: "the driver's limit on loop rounds is not kept",
    RoundsAreApart: "no round of a kernel's loop has to do with another one",
    SkippedRoundsAct: "a round that does not step a counter does what it does with any value of it",
    LoopsEndKernels: "nothing happens behind a loop whose rounds end early",
    AnyRoundIsReached: "a round of a kernel by rounds is one that the kernel comes to",
    StoresAreReached: "a store of several is done where the branches that lead to it are taken, whatever comes between",
    StoresAreEven: "what several stores differ in differs by as much as in the first two",
    RoundsAreFewer: "a loop has a round less than it has",
    PlacedRoundsAreOwn: "a kernel that is placed goes round as often as by itself",
    RoundsInTurnAreOne: "loops that are done for one work-group after another go round as often as for one",
    VulkanModelIsPrivate: "no access of a kernel of the Vulkan memory model is shared with other invocations",
    VulkanBarriersOrderNothing: "under the Vulkan memory model barriers order no access that does not state its own availability",
    FloatModesAreOne: "kernels that compute with floats in different modes stand in one module",
    IgnoreLimits: "limits on bindings, push constants and shared memory are not kept",
    WishesAreGranted: "what is to stay inside needs no binding, whether it does or not",
    SmallArgumentsMove: "8- and 16-bit push constants go to a uniform buffer where there is no room, as others do",
    AnyLengthIsAMultiple: "what numbers of items are divided by is a multiple of sixteen",
    QuartersBeginAnywhere: "four numbers next to each other begin at a multiple of four",
    ItemsApartAreVectors: "an access may take the elements of items that do not lie next to each other",
    EndsAreAlike: "all members of a free shape end at the same item",
    PeeledItemsAreFewer: "of the items behind the last whole group at most two are done",
    EffectsComeAfterGuards: "what a guard of a straight line turns away has done nothing before it",
    // Order.
    ReadsMayMove: "what reads may be done before or after what writes there",
    WritesMayMove: "of two submissions that write somewhere any may be the last",
    ViewsMayMove: "arguments that begin at different bytes have none in common",
    PartsCover: "who comes after a write of a part comes after all that was written before",
    AddressesMayMove: "what follows device addresses touches its arguments alone",
    // Renaming.
    WritersOverwrite: "who may write a range writes all of it",
    OverwritersMayRead: "who overwrites a value needs nothing of it",
    OnePartIsWhole: "what is overwritten in part is overwritten",
    ViewsAreOtherValues: "arguments that begin at different bytes are different values",
    EndsOverwrite: "no one reads what a list leaves behind",
    TrustedIsInside: "what stays inside on the user's word may do so where no one asked for it",
    // Placement.
    AnyKernelIsFree: "a kernel with barriers or shared memory is placed as well",
    IdsAreNotVirtual: "a placed kernel reads the dispatch's group and local id for its own",
    VariablesKeepTheirValues: "what a local variable starts with is what the item before left in it",
    OthersAreUnreachable: "the invocations that a padded work-group has in addition do not come to the end of code that the kernel's own leave",
    OthersAreActive: "the invocations that a padded work-group has in addition do what the kernel's own do",
    SubgroupsAreWhole: "work-groups of a kernel with sub-group operations are padded, whether or not they are whole sub-groups",
    SubgroupsPart: "sub-groups beside idle ones stay together in branches, whatever the device says",
    LocalIndicesAreLanes: "Vulkan numbers the invocations of a padded work-group by sub-groups",
    IdleSubgroupsCount: "a padded kernel has as many sub-groups as the larger work-group",
    RoundsAreLonger: "the rounds of a placed row are an item more apart than its work-group is wide",
    RowsGoOn: "a placed grid that is wider than its rows does what is behind them",
    LinesBeginEarlier: "a kernel that is placed from a later invocation on does something in those before it",
    TailsAreIdle: "items of a placed kernel that its partner has no place for have nothing to do",
    MoreItemsThanThereAre: "a placed kernel does as many items as its partner has places",
    AnyWordIsTheLength: "what a placed kernel divides its item's number by is the length of a row",
    NarrowGridsCover: "a grid that is narrower than its rows has all items",
    GroupsAreALine: "the work-groups of a placed kernel are numbered in one dimension",
    OtherDimensionsAreOne: "a placed kernel has the items of its first dimension",
    OtherIdsAreIdle: "of items that are numbered by their global ids, what the others write is as little as what one store says",
    NumbersAreIds: "where items are numbered by their global ids, the number is that of the first dimension",
    BlocksAreRows: "where a work-group has several rows of items, its number is that of a row, and the item's that of the column",
    RemaindersAreTheNumber: "what is divided is at most what its remainder is at most",
    QuotientsAreLess: "a quotient is less by one than that of the most that is divided",
    // Inlining.
    AnySideIsTaken: "what is computed elsewhere loads on both sides of a branch",
    LoadsHaveNoConditions: "what is computed elsewhere loads what it would load if its conditions held",
    BuffersHaveElements: "every buffer has a first element",
    AnyStoreIsTheOne: "a store that is left goes to the buffer that is read",
    BranchesAreDecided: "a branch on what is not known goes the first way",
    PlacesAreOne: "both sides of a branch store to one element of a buffer",
    ViewsAreInlinedUnshifted: "two views of one buffer begin at the same element",
    SeamsInsideAreOpen: "floats of a kernel that is computed in another are seen there by the compiler",
    SourcesStay: "what a kernel reads is not written before it is recomputed",
    TargetsStay: "what a kernel stores is not written over before it is read",
    ItemsMayBeEarly: "what is done where another stores may touch what others touch until then",
    ElementsAreTheItems: "an item that is done where its element is stored reads no other element",
    StoresAreApart: "no element is stored twice",
    AllItemsAreDone: "every element that an item reads is stored",
    PartsAreAll: "kernels that store parts of what an item reads store all of it",
    PartsAreApart: "kernels that store parts of what an item reads store different elements",
    PartsStayInside: "what kernels store parts of is what an item reads",
    AnyStoreCounts: "a store that may not happen is counted among those of a part",
    GuardsCountAll: "a store happens in every invocation, whatever its guard, where parts are counted",
    SumsAreNumbers: "a sum of ids takes as many values as there are ids, each once",
    PartsAreWhole: "every quotient and every remainder of an id go together",
    StoredBackIsUnread: "what an epilogue stores back where it was stored is not read again by it",
    StoredBackIsUnseen: "what stores elements does not read them where they are stored back",
    HalvesAreHandedOn: "halves that are only stored are handed on without being read back",
    HalvesWorkedOutAreOpen: "halves that are recomputed where they are read are seen by the compiler",
    DevicesComputeWithHalves: "halves are recomputed where they are read on devices that only store them",
    HalvesAreNotKept: "halves that are read back where they were stored need not be stored",
    ReadBackIsOpen: "what is read back of what stays inside is seen by the compiler",
    ReadBackIsKept: "what is read back where it was stored is what was kept of it",
    StoredBackIsInside: "what is stored back where it was stored stays inside if that was wished",
    ItemsShareVariables: "a local variable of an item begins with what the last one left in it",
    ColumnsAreInRows: "what is added to a row times its length is less than the length",
    FactorsAreLengths: "what a row is multiplied by is what others divide by",
    DividendsAreTheIndex: "what is divided is the index of the element",
    ArraysBeginTogether: "an element has the same index in both kernels",
    DigitsMakeUpIds: "quotients and remainders make up the id that they are of",
    OthersFollow: "a condition that is not followed follows from the others",
    GuardsAreTheFirst: "stores side by side have the guard of the first of them",
    LastRowsAreWhole: "the last row of a number that is divided by their length is a whole one",
    NumbersAreUnguarded: "a number that is divided takes all values, whatever its guard",
    DigitsAreFree: "ids that a number is made of take all values beside its quotients and remainders",
    AllIsStored: "whatever is read of a buffer was stored",
    UndefinedIsRecomputed: "an undefined value is recomputed where the stored one is read",
    FirstPartFills: "nothing is left undefined of a vector that a number was put into",
    UndefinedStaysSo: "values that a member leaves undefined stay undefined in the fused kernel",
    PartsAreTheFirst: "every component of a recomputed vector is its first one",
    PartlyIsStored: "a vector is taken for stored where only some of its scalars are",
    OneMoreIsStored: "a kernel stores an element more than it does",
    GuardsAreOpen: "a kernel stores an element for every item that it has",
    FormatsKeepAll: "an image keeps what is written to it, whatever its format",
    FormatsAreOne: "an image that is written in one format and read in another keeps its bits",
    MissingAlphaIsZero: "an image without alpha reads as transparent",
    LevelsAreOne: "a fetch from any level is one from the first",
    ViewsOfImagesAreOne: "all views of an image show the same texels",
    TexelsBeginAtZero: "the first item writes the first texel",
    AnyItemWritesATexel: "items that differ in an id that is no coordinate write texels of their own",
    TexelGuardsAreOpen: "a kernel writes a texel for every item that it has",
    OneMoreTexelIsWritten: "a kernel writes a row and a column of texels more than it does",
    InPlaceIsAnywhere: "who writes to an image that it reads reads what it writes over",
    AllTexelsAreWritten: "whatever is read of an image was written",
    AnyTexelIsInside: "no kernel reads outside of an image",
    SitesOverlap: "the elements of several stores of an item are others than those of all stores, wherever they are",
    SitesAreOfAllItems: "where one of a kernel's stores is done, all are",
    FirstSiteIsEverySite: "what an item stores in several elements is what its first store stores",
    OthersAreNotStored: "a kernel whose elements are recomputed wherever they are read stores nothing else",
    SitesAreKnown: "which store of an item a load finds follows from its place's least value",
    DigitsAreDense: "the ids of an item are digits of its element's index whatever their weights",
    // Work-groups side by side.
    BarriersMayPart: "a barrier may stand where one work-group comes and another does not",
    MemoryIsCommon: "what is loaded from a buffer is the same in all work-groups",
    WorkGroupsAreOne: "branches on the work-group's number go the same way in all of them",
    WhatPartsIsCommon: "behind a branch that differs between work-groups, what it chose does not",
    FrozenPlacesAreOne: "what is loaded from a buffer that no one writes is the same in all work-groups, wherever it is loaded",
    SharedMemoryIsOne: "work-groups that are done side by side share their variables",
    AnotherSideIsWoven: "work-groups that follow each other along one side differ along the next",
    StoredValuesAreOne: "shared memory is one for all work-groups whatever values they store",
    StoredPlacesAreOne: "shared memory is one for all work-groups wherever they store",
    StoresMayPart: "shared memory is one for all work-groups though not all of them store",
    AnyUseIsPlain: "shared memory is one for all work-groups whatever else they do to it",
    LastGroupIsFull: "the last work-group has as many to do as the others",
    LastGroupsNeedNoBarrier: "work-groups that are done one by one need no barrier between them",
    // Several invocations by one.
    InvocationsAreOne: "an invocation does one of the kernel's several times",
    PushedNumbersAreLeast: "a push constant has the least number of its range",
    RowsEndAtMultiples: "rows that are shorter than a work-group end at a multiple of the invocations that are left",
    RestIsNobody: "invocations that are left do not have to divide a work-group",
    RowsAreLines: "work-groups of several dimensions are lines of invocations",
    SubgroupsStay: "kernels with sub-group operations have the same sub-groups in work-groups of fewer invocations",
    FewerAreLeft: "work-groups of fewer invocations have half of those",
    ReturnsStayApart: "members in front of one with sub-group operations return wherever they like",
    LeftAreOneSubgroup: "the invocations that are left of a work-group are one sub-group",
    SubgroupsCover: "a sub-group does several work-groups, whether or not their number is a multiple",
    SubgroupsAreOneGroup: "all sub-groups of a work-group are the same one of the kernels'",
    LanesAreOneGroup: "each lane of a sub-group that is several work-groups is another invocation of them",
    ShufflesCross: "shuffles of work-groups that are lanes of one sub-group count its lanes from the first",
    RegistersStay: "a register holds what it held when it was loaded",
    AnyTermIsNothing: "a constant that was added to a register is nothing the second time",
    SlicesAreOne: "sub-groups that are work-groups of the kernels share their memory",
    LastSubgroupsAreMore: "sub-groups behind the last work-group do one as well",
    RegistersAreOne: "all elements that an invocation keeps of shared memory are in the register of the first that is asked for",
    AnybodyStores: "what stores to shared memory keeps the element",
    ShufflesStay: "what other invocations keep is taken from them wherever it is loaded",
    ShufflesPassBarriers: "what other invocations keep is taken from them before the barrier in front of the load",
    ShufflesPassStores: "what may be the own element is taken before a store to it in front of the load",
    BarriersAreIdle: "no barrier orders anything where some shared memory is in registers",
    BarriersAreAlone: "a barrier orders what it says itself, whatever a memory barrier before it says",
    StoresPassBarriers: "a store that waits for loads comes after barriers behind it",
    StoresPassTheirLoads: "a store that waits for loads comes after those of its own buffer",
    StoresToViewsWait: "a store waits for loads of what overlaps its buffer",
    LaterStoresComeFirst: "of stores that wait for loads the last comes first",
    NobodyReadsInside: "no invocation loads what it stored to a buffer that stays inside",
    // Loops that are unrolled.
    OneHalvingLess: "a loop that halves a constant ends one round before it does",
    TailIsFull: "all invocations go round as often as one does",
    ExtremaChangePlaces: "extrema of several chains are taken in the other order",
    SumsLoseTheirKnownPart: "of a sum of two sums, one known part is lost",
    RoundsOfOneAreOfAll: "what rounds of a loop one invocation does all do, where several stand one after another",
    FirstRoundsComeAgain: "a loop begins with its first rounds, also where these stand in front of it",
    FirstRoundsAreMore: "all invocations do as many rounds besides those that stand in front of a loop",
    TestsHaveNoEffects: "what a loop does before its test may be done twice",
    // Branches that go one way.
    EveryGuardHolds: "every invocation has something to do",
    // Floats.
    NothingIsHidden: "floats of one member are handed to the next as the driver's compiler sees them",
    EveryFloatIsPlain: "extended instructions, divisions and comparisons count as sums",
    ConstantsArePlain: "sums and products with constants count as those of values no one knows",
    MemoryIsNotHidden: "floats handed over in memory are not hidden",
    OwnStoresAreOpen: "what a kernel loads of its own stores is left to the compiler",
    TwinsAreOpen: "bindings of a kernel that are the same memory, and equal arguments of it, are left to the compiler",
    AnyArgumentIsTheZero: "a sum with any argument, twice, is that sum once",
    HiddenTwiceIsOpen: "what is hidden twice is what it was",
    ChoicesAreOpen: "floats that are chosen are left to the compiler",
    AloneIsOpen: "a kernel alone is left as it is, whatever is hidden of it where it is fused",
    ZerosDivide: "divisors that may be constant zeros are left to the compiler",
    NumbersAreNotHidden: "integers that become floats are not hidden",
    ArgumentsAreNotHidden: "arguments that two members share are not hidden",
    // Superword code.
    DifferencesAreSums: "a difference of words is their sum",
    StoredWordsAreShared: "what is loaded once stays, no matter who stores to it",
    ItemsAreOne: "an invocation does one item several times",
    ClampsChangeNothing: "a clamp changes nothing, wherever the item lies",
    NobodyIsTurnedAway: "a guard lets all items of an invocation through",
    SidesAgree: "all items of an invocation take the side of the first",
    SidesMeetLater: "sides of a branch meet where one of them comes to in a later round",
    AnyDistanceIsDivided: "a quotient of items a distance apart is one of that distance, whatever divides it",
    NothingWrapsBetween: "what is below a limit is not beyond where words wrap",
    ColumnsAreRows: "staged columns are filled without exchanging `x` and `y`",
    ColumnsOverlap: "staged columns overlap in shared memory",
    NobodyWaitsForColumns: "no barrier stands between filling shared memory and loading from it",
    NobodyWaitsToAgree: "no barrier stands between setting the flag of a square and testing it",
    OwnSquareIsWhole: "an invocation tests its own items only before it fills shared memory",
    WorkGroupsAreNobodys: "work-groups are made larger, no matter who asks for their numbers",
    GuardsEndAnywhere: "a line of items ends before the dispatch does, whatever its guards let through",
    NobodyIsInAPart: "the way of one part is taken by the items of others",
    WorkGroupsCover: "work-groups are made larger, whether or not this many are there",
    VectorsLieAnywhere: "four elements next to each other are a vector, wherever they begin",
    BuffersStartAnywhere: "a buffer starts where a vector may",
    // Internalization.
    LocalIsPrivate: "what the work-group shares is granted to the invocation",
    NoOwnership: "a promotion is granted no matter who touches the elements",
    AnyReadIsDefined: "a promotion is granted without showing that reads find what was written",
    AnyOrderCovers: "a write covers a read that comes before it",
    AnyRoundCovers: "a write in one round of a loop covers a read in another",
    SumsAreLess: "a sum whose parts conditions bound counts as one less than it may be",
    AnyConditionCovers: "a conditional write covers a read under another condition",
    AnyGroupWriteCovers: "a conditional write of the work-group covers all of it",
    AnyBlockDominates: "within a kernel an earlier access has always happened",
    NobodyWrites: "a write that no invocation can do covers a read",
    AnyStoresAreJoint: "of several stores to one place one happens, whatever lies between",
    LoopsEndByTheirTest: "a loop is left by its test, whatever else leads out of it",
    OtherExitsAreNotTaken: "every round of a loop is done, whatever else than its test leads out of it",
    EveryRoundIsBegun: "what comes before a loop's test happens in as many rounds as the longest has",
    EveryLimitIsMet: "a counter that steps past its limit has met it",
    CasesAreAll: "where one write does not happen, another one does",
    RoundIsValue: "the number of a round and an unknown value of its counter are one",
    PaddingIsWritten: "a store covers all bytes from its first to its last",
    PaddingIsOverwritten: "a store makes all bytes from its first to its last readable",
    GapsAreCovered: "one piece covers a read of several",
    PromoteAcrossGroups: "a buffer is promoted although other groups use it",
    AnyWish: "the first wish for a promotion goes before the others",
    AtomicsMayBeInside: "a buffer with atomic operations is promoted",
    SharedBlocksAreApart: "shared memory with an explicit layout is taken for variables of their own",
    OutsideIsKept: "with robust access, what is stored outside of what is bound is kept for loads through other ranges",
    ReadsEndEarly: "a submission reads the first element of an argument alone",
    OutsideOverwrites: "with robust access, a store that may leave what is bound counts as done",
    OutsideIsStored: "with robust access, what is stored outside of what is bound is computed",
    OutsideIsWorkedOut: "with robust access, what is loaded from outside of what is bound is computed",
    OutsideIsInOrder: "with robust access, accesses that may leave what is bound are ordered as any others",
    ArraysAreKeptTo: "with robust access, an index that may leave an array is taken for one that does not",
    RangesAreTight: "with robust access, ranges are not rounded up",
    OneSlot: "all elements of an invocation share a slot",
    RangesAreNumbers: "what an access is made of has one value where it happens, the least one",
    SlotsFromTheView: "the slot of an element counts from the start of the view",
    SlotsFromTheArray: "the slot of an element counts from the start of its array, wherever that lies in the block",
    MajorsAreOne: "matrices are alike however they lie in memory",
}
