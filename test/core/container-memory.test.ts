import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { containerMemory } from '../../src/core/container-memory.js'
import { ProcessLook } from '../../src/features/overload/process-look.js'

/** What a container holds, by the files in which Linux says so. */

const SECOND = 'anon 600\nfile 9000\nkernel 50\nshmem 30\nfile_mapped 4000\n'
const FIRST = 'cache 9000\nrss 1\nshmem 2\nmapped_file 4000\ntotal_cache 9000\ntotal_rss 700\ntotal_shmem 20\n'

t.test('what all processes hold counts, and no pages of files', async t => {
  const unit = t.testdir({
    proc: { self: { cgroup: '0::/system.slice/gateway.service\n' } },
    sys: {
      fs: { cgroup: { 'memory.stat': 'anon 1\n', 'system.slice': { 'gateway.service': { 'memory.stat': SECOND } } } },
    },
  })
  t.equal(containerMemory(unit)(), 630)
})

t.test('a container that sees its own group alone finds it', async t => {
  const container = t.testdir({
    proc: { self: { cgroup: '0::/../../kubepods/pod1\n' } },
    sys: { fs: { cgroup: { 'memory.stat': SECOND } } },
  })
  t.equal(containerMemory(container)(), 630)
})

t.test('the first version has other names, and wins where the second one is there beside it', async t => {
  const container = t.testdir({
    proc: { self: { cgroup: '5:cpu,memory:/docker/one\n0::/docker/one\n' } },
    sys: { fs: { cgroup: { 'memory.stat': SECOND, memory: { 'memory.stat': FIRST } } } },
  })
  const held = containerMemory(container)
  t.equal(held(), 720)
  rmSync(join(container, 'sys'), { recursive: true })
  t.equal(held(), undefined)
})

t.test('a system that does not say', async t => {
  t.equal(containerMemory(t.testdir({}))(), undefined)
  t.equal(containerMemory(t.testdir({ proc: { self: { cgroup: '0::/\n' } } }))(), undefined)
})

t.test('a worker sees that its container is full because of the others', async t => {
  const far = 1024 ** 5
  t.equal(new ProcessLook(far, () => far * 0.97).take().memory, 0.97)
  t.ok(new ProcessLook(far, () => undefined).take().memory < 0.9, 'its own share, where the system does not say more')
  t.ok(new ProcessLook(2 ** 64, () => far).take().memory < 0.9, 'no bound')
  t.ok(new ProcessLook(0, () => far).take().memory < 0.9, 'no bound')
})
