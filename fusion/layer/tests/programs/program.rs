//! A random program: memory, sets and command buffers that come, change and go.

use crate::memory::{Buffer, Memory, Range, Rng, STEP, hash, span};
use crate::submit::Pending;
use crate::world::{Kernel, PLAIN, Way, World};
use ash::vk;

/// Work-groups of an indirect dispatch: the place `x` of the counts holds `x, 1, 1`.
const COUNTS: u64 = 64;

/// A set, or two, and what is in them.
pub(crate) struct Set {
    pub(crate) way: Way,
    pub(crate) handles: Vec<vk::DescriptorSet>,
    pub(crate) ranges: [Range; 3],
    /// Whether its buffers are there.
    pub(crate) is_whole: bool,
}

/// A command buffer.
pub(crate) struct Commands {
    pub(crate) handle: vk::CommandBuffer,
    /// What it may execute.
    pub(crate) inner: vk::CommandBuffer,
    pub(crate) pool: vk::CommandPool,
    /// Set by the device; the second is waited for there.
    pub(crate) events: [vk::Event; 2],
    pub(crate) sets_event: bool,
    pub(crate) usage: vk::CommandBufferUsageFlags,
    /// What is recorded follows from these and from the program's objects.
    pub(crate) seed: u64,
    pub(crate) salt: u32,
    /// Whether it may be submitted.
    pub(crate) is_ready: bool,
    pub(crate) sets: Vec<usize>,
    pub(crate) buffers: Vec<usize>,
    pub(crate) uses_own: bool,
}

pub(crate) struct Program<'w> {
    pub(crate) world: &'w World,
    pub(crate) rng: Rng,
    /// Bytes of most buffers.
    usual: u64,
    pub(crate) memories: Vec<Memory>,
    pub(crate) buffers: Vec<Buffer>,
    /// Rows of numbers of work-groups, which nothing writes.
    pub(crate) counts: (Memory, Buffer),
    descriptors: vk::DescriptorPool,
    pub(crate) sets: Vec<Set>,
    pub(crate) commands: Vec<Commands>,
    pub(crate) queries: vk::QueryPool,
    pub(crate) timeline: (vk::Semaphore, u64),
    pub(crate) semaphore: vk::Semaphore,
    /// A pipeline that comes and goes.
    pub(crate) own: (Kernel, vk::Pipeline),
    pub(crate) pending: Vec<Pending>,
    hashes: Vec<u64>,
}

/// Plays a program: the line it prints.
pub(crate) fn run(world: &World, seed: u64) -> String {
    let mut program = Program::new(world, seed);
    let steps = 6 + program.rng.below(14);
    for _ in 0..steps {
        program.step();
    }
    program.wait();
    program.look();
    let line = format!("{seed} {:x?}", program.hashes);
    program.end();
    line
}

impl<'w> Program<'w> {
    fn new(world: &'w World, seed: u64) -> Program<'w> {
        let mut rng = Rng::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x5EED);
        let usual = 4 * [64, 192, 640, 1000, 1024][rng.below(5)];
        let memories: Vec<Memory> =
            (0..3).map(|_| Memory::new(world, STEP * (96 + rng.below(64) as u64), &mut rng)).collect();
        let counts = Memory::new(world, 12 * COUNTS + STEP, &mut rng);
        let rows: Vec<u8> = (0..COUNTS as u32).flat_map(|x| [x, 1, 1]).flat_map(u32::to_ne_bytes).collect();
        counts.write(&rows);
        let of_counts = counts.buffer(world, usize::MAX, 0, 12 * COUNTS);
        let sizes = [Way::Sets, Way::Dynamic, Way::Uniform]
            .map(|way| vk::DescriptorPoolSize { ty: way.kinds()[1], descriptor_count: 200 });
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(60).pool_sizes(&sizes);
        let info = info.flags(vk::DescriptorPoolCreateFlags::FREE_DESCRIPTOR_SET);
        let device = &world.device;
        let info_queries =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(1);
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let timeline = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        let (descriptors, queries, timeline, semaphore) = unsafe {
            (
                device.create_descriptor_pool(&info, None).expect("a pool"),
                device.create_query_pool(&info_queries, None).expect("a pool"),
                device.create_semaphore(&timeline, None).expect("a semaphore"),
                device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None).expect("a semaphore"),
            )
        };
        let kernel = rng.of(&PLAIN);
        let own = (kernel, world.another(kernel, Way::Sets, rng.below(2)));
        let mut program = Program {
            world,
            rng,
            usual,
            memories,
            buffers: Vec::new(),
            counts: (counts, of_counts),
            descriptors,
            sets: Vec::new(),
            commands: Vec::new(),
            queries,
            timeline: (timeline, 0),
            semaphore,
            own,
            pending: Vec::new(),
            hashes: Vec::new(),
        };
        for _ in 0..9 {
            let buffer = program.buffer();
            program.buffers.push(buffer);
        }
        for number in 0..14 {
            let way = [Way::Sets, Way::Sets, Way::Sets, Way::Dynamic, Way::Split, Way::Uniform][number % 6];
            let set = program.set(way);
            program.sets.push(set);
            program.change_set(number);
        }
        for _ in 0..4 {
            let commands = program.new_commands();
            program.commands.push(commands);
            let last = program.commands.len() - 1;
            program.record(last);
        }
        program
    }

    /// A buffer in some memory: in most of them they lie in a row, in the first anywhere.
    fn buffer(&mut self) -> Buffer {
        let size = match self.rng.below(4) {
            0 => 4 * (64 + self.rng.below(1200) as u64),
            _ => self.usual,
        };
        let memory = self.rng.below(2 * self.memories.len()) % self.memories.len();
        let room = self.memories[memory].size.saturating_sub(size + STEP) / STEP;
        let at = if memory == 0 && self.rng.one_in(2) {
            STEP * self.rng.below(room as usize) as u64
        } else {
            let slot = self.usual.next_multiple_of(STEP);
            (self.rng.below((room * STEP / slot) as usize) as u64 * slot).min(room * STEP)
        };
        self.memories[memory].buffer(self.world, memory, at, size)
    }

    /// A part of a buffer, mostly all that usual ones have.
    pub(crate) fn range(&mut self, rng: Option<&mut Rng>) -> Range {
        let (count, usual) = (self.buffers.len(), self.usual);
        let rng = rng.unwrap_or(&mut self.rng);
        let buffer = rng.below(count);
        let size = self.buffers[buffer].size;
        match rng.below(6) {
            0 => {
                let offset = STEP * rng.below((size / STEP) as usize) as u64;
                let most = size - offset;
                Range { buffer, offset, size: (4 * (64 + rng.below((most / 4) as usize) as u64)).min(most) }
            }
            1 => Range { buffer, offset: 0, size },
            _ => Range { buffer, offset: 0, size: size.min(usual) },
        }
    }

    /// Three parts that a kernel can be run on.
    pub(crate) fn ranges(&mut self, way: Way, mut rng: Option<&mut Rng>) -> [Range; 3] {
        loop {
            let mut ranges = [(); 3].map(|()| self.range(rng.as_deref_mut()));
            if way == Way::Uniform {
                ranges[1] = Range { size: 256, ..ranges[1] };
            }
            let own = rng.as_deref_mut().unwrap_or(&mut self.rng);
            if way != Way::Uniform && own.one_in(8) {
                ranges[2] = ranges[own.below(2)];
            }
            if self.fits(way, &ranges, true) || self.fits(way, &ranges, false) {
                return ranges;
            }
        }
    }

    /// Whether kernels can be run on these parts; others than those by elements only where the result lies apart.
    pub(crate) fn fits(&self, way: Way, ranges: &[Range; 3], is_elementwise: bool) -> bool {
        let is_inside = |range: &Range| range.offset + range.size <= self.buffers[range.buffer].size;
        if !ranges.iter().all(is_inside) || ranges.iter().any(|range| range.size < 256) {
            return false;
        }
        let [a, b, c] = ranges.each_ref().map(|range| span(&self.buffers, range));
        let is_right = |of: &_| !c.meets(of) || (is_elementwise && way != Way::Uniform && c.is_along(of));
        is_right(&a) && is_right(&b)
    }

    fn set(&mut self, way: Way) -> Set {
        let ranges = self.ranges(way, None);
        Set { way, handles: self.allocate(way), ranges, is_whole: false }
    }

    fn allocate(&self, way: Way) -> Vec<vk::DescriptorSet> {
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.descriptors);
        let info = info.set_layouts(self.world.sets(way));
        unsafe { self.world.device.allocate_descriptor_sets(&info).expect("sets") }
    }

    /// Puts other buffers into a set; what was recorded with it may not be submitted any more.
    fn change_set(&mut self, number: usize) {
        let (device, way) = (&self.world.device, self.sets[number].way);
        if self.rng.one_in(4) {
            let handles = std::mem::take(&mut self.sets[number].handles);
            unsafe { device.free_descriptor_sets(self.descriptors, &handles).expect("they are freed") };
            self.sets[number].handles = self.allocate(way);
        }
        let ranges = self.ranges(way, None);
        let infos = self.infos(&ranges);
        let handles = self.sets[number].handles.clone();
        if way == Way::Sets && self.rng.one_in(3) {
            let data = infos.as_ptr().cast();
            unsafe { device.update_descriptor_set_with_template(handles[0], self.world.template, data) };
        } else {
            let (places, kinds) = (way.places(), way.kinds());
            let writes = [0, 1, 2].map(|place| {
                let (set, binding) = places[place];
                let write = vk::WriteDescriptorSet::default().dst_set(handles[set]).dst_binding(binding);
                write.descriptor_type(kinds[place]).buffer_info(std::slice::from_ref(&infos[place]))
            });
            unsafe { device.update_descriptor_sets(&writes, &[]) };
        }
        self.sets[number].ranges = ranges;
        self.sets[number].is_whole = true;
        self.spoil(|commands| commands.sets.contains(&number));
        // What is in one is copied to another now and then.
        let other = self.rng.below(self.sets.len());
        if other != number && self.sets[other].way == way && self.rng.one_in(3) {
            let (from, to) = (self.sets[number].handles.clone(), self.sets[other].handles.clone());
            let copies = way.places().map(|(set, binding)| {
                let copy = vk::CopyDescriptorSet::default().src_set(from[set]).src_binding(binding);
                copy.dst_set(to[set]).dst_binding(binding).descriptor_count(1)
            });
            unsafe { device.update_descriptor_sets(&[], &copies) };
            self.sets[other].ranges = ranges;
            self.sets[other].is_whole = true;
            self.spoil(|commands| commands.sets.contains(&other));
        }
    }

    pub(crate) fn infos(&self, ranges: &[Range; 3]) -> [vk::DescriptorBufferInfo; 3] {
        ranges.map(|range| {
            let buffer = &self.buffers[range.buffer];
            let is_rest = range.offset + range.size == buffer.size && range.offset % 512 == 0;
            let size = if is_rest { vk::WHOLE_SIZE } else { range.size };
            vk::DescriptorBufferInfo { buffer: buffer.handle, offset: range.offset, range: size }
        })
    }

    /// Command buffers may not be submitted any more.
    fn spoil(&mut self, is_spoiled: impl Fn(&Commands) -> bool) {
        self.commands.iter_mut().filter(|one| is_spoiled(one)).for_each(|one| one.is_ready = false);
    }

    fn new_commands(&mut self) -> Commands {
        let device = &self.world.device;
        let flags = match self.rng.below(2) {
            0 => vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER,
            _ => vk::CommandPoolCreateFlags::empty(),
        };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.world.family).flags(flags);
        let pool = unsafe { device.create_command_pool(&info, None).expect("a pool") };
        let event =
            || unsafe { device.create_event(&vk::EventCreateInfo::default(), None).expect("an event") };
        let events = [event(), event()];
        let (handle, inner) = (self.handle(pool, false), self.handle(pool, true));
        Commands {
            handle,
            inner,
            pool,
            events,
            sets_event: false,
            usage: vk::CommandBufferUsageFlags::empty(),
            seed: self.rng.next(),
            salt: 0,
            is_ready: false,
            sets: Vec::new(),
            buffers: Vec::new(),
            uses_own: false,
        }
    }

    fn handle(&self, pool: vk::CommandPool, is_secondary: bool) -> vk::CommandBuffer {
        let level =
            if is_secondary { vk::CommandBufferLevel::SECONDARY } else { vk::CommandBufferLevel::PRIMARY };
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).level(level);
        let info = info.command_buffer_count(1);
        unsafe { self.world.device.allocate_command_buffers(&info).expect("a command buffer")[0] }
    }

    /// Records a command buffer anew: the same, the same with other numbers, or another one.
    fn record_anew(&mut self, number: usize) {
        let device = &self.world.device;
        let pool = self.commands[number].pool;
        if self.rng.one_in(3) {
            let old = [self.commands[number].handle, self.commands[number].inner];
            unsafe { device.free_command_buffers(pool, &old) };
            self.commands[number].handle = self.handle(pool, false);
            self.commands[number].inner = self.handle(pool, true);
        } else {
            unsafe {
                device.reset_command_pool(pool, vk::CommandPoolResetFlags::empty()).expect("it is reset")
            };
        }
        match self.rng.below(4) {
            0 => self.commands[number].seed = self.rng.next(),
            1 => self.commands[number].salt = self.rng.below(1000) as u32,
            _ => {}
        }
        self.record(number);
    }

    fn step(&mut self) {
        match self.rng.below(16) {
            0..=6 => {
                for number in 0..self.commands.len() {
                    if !self.commands[number].is_ready && self.rng.below(3) > 0 {
                        self.wait();
                        self.record_anew(number);
                    }
                }
                self.submit();
            }
            7 | 8 => {
                self.wait();
                let number = self.rng.below(self.commands.len());
                self.record_anew(number);
            }
            9 | 10 => {
                self.wait();
                let memory = self.rng.below(self.memories.len());
                let size = self.memories[memory].size;
                let from = self.rng.below(size as usize) as u64 / 4 * 4;
                let to = (from + 4 * self.rng.below(2000) as u64).min(size);
                self.memories[memory].fill(from, to, &mut self.rng);
            }
            11 | 12 => {
                self.wait();
                let number = self.rng.below(self.sets.len());
                self.change_set(number);
            }
            13 => {
                self.wait();
                let number = self.rng.below(self.buffers.len());
                self.renew(|buffer, _| buffer == number);
            }
            14 => {
                self.wait();
                self.renew_memory();
            }
            _ => {
                self.wait();
                self.look();
                let device = &self.world.device;
                unsafe { device.destroy_pipeline(self.own.1, None) };
                let kernel = self.rng.of(&PLAIN);
                self.own = (kernel, self.world.another(kernel, Way::Sets, self.rng.below(2)));
                self.spoil(|commands| commands.uses_own);
            }
        }
    }

    /// Makes buffers anew, and changes the sets that have them.
    fn renew(&mut self, is_gone: impl Fn(usize, &Buffer) -> bool) {
        let gone: Vec<usize> =
            (0..self.buffers.len()).filter(|number| is_gone(*number, &self.buffers[*number])).collect();
        for number in &gone {
            unsafe { self.world.device.destroy_buffer(self.buffers[*number].handle, None) };
        }
        for number in &gone {
            let old = self.buffers[*number];
            // Often it is the same again.
            self.buffers[*number] = match self.rng.below(2) {
                0 if old.at + old.size <= self.memories[old.memory].size => {
                    self.memories[old.memory].buffer(self.world, old.memory, old.at, old.size)
                }
                _ => self.buffer(),
            };
        }
        self.spoil(|commands| commands.buffers.iter().any(|buffer| gone.contains(buffer)));
        for number in 0..self.sets.len() {
            if self.sets[number].ranges.iter().any(|range| gone.contains(&range.buffer)) {
                self.sets[number].is_whole = false;
                self.change_set(number);
            }
        }
    }

    fn renew_memory(&mut self) {
        let memory = self.rng.below(self.memories.len());
        let size = match self.rng.below(2) {
            0 => self.memories[memory].size,
            _ => STEP * (96 + self.rng.below(64) as u64),
        };
        // Its buffers go in front of it.
        for buffer in self.buffers.iter_mut().filter(|buffer| buffer.memory == memory) {
            unsafe { self.world.device.destroy_buffer(buffer.handle, None) };
            buffer.handle = vk::Buffer::null();
        }
        unsafe { self.world.device.free_memory(self.memories[memory].handle, None) };
        self.memories[memory] = Memory::new(self.world, size, &mut self.rng);
        self.renew(|_, buffer| buffer.memory == memory);
    }

    /// Notes what is in memory.
    pub(crate) fn look(&mut self) {
        let all = self.memories.iter().fold(0, |seed, memory| hash(memory.bytes(), seed));
        self.hashes.push(all);
    }

    fn end(mut self) {
        let device = &self.world.device;
        // lavapipe 22.3 looks at timeline semaphores after the fence behind them is signalled.
        let queue = self.world.queue.lock().expect("the queue");
        unsafe { device.queue_wait_idle(*queue).expect("it is idle") };
        drop(queue);
        unsafe {
            for one in self.commands.drain(..) {
                device.destroy_command_pool(one.pool, None);
                one.events.iter().for_each(|event| device.destroy_event(*event, None));
            }
            device.destroy_pipeline(self.own.1, None);
            device.destroy_query_pool(self.queries, None);
            device.destroy_semaphore(self.semaphore, None);
            device.destroy_semaphore(self.timeline.0, None);
            device.destroy_descriptor_pool(self.descriptors, None);
            device.destroy_buffer(self.counts.1.handle, None);
            device.free_memory(self.counts.0.handle, None);
            self.buffers.iter().for_each(|buffer| device.destroy_buffer(buffer.handle, None));
            self.memories.iter().for_each(|memory| device.free_memory(memory.handle, None));
        }
    }
}
