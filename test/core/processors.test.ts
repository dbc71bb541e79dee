import { availableParallelism } from 'node:os'
import t from 'tap'
import { processors } from '../../src/core/processors.js'

/** How many workers `auto` means: no more than the bound of a container allows. */

const second = (bound: string): object => ({
  proc: { self: { cgroup: '0::/gateway\n' } },
  sys: { fs: { cgroup: { gateway: { 'cpu.max': bound } } } },
})
const first = (quota: string): object => ({
  proc: { self: { cgroup: '2:cpu,cpuacct:/gateway\n0::/\n' } },
  sys: { fs: { cgroup: { cpu: { 'cpu.cfs_quota_us': quota, 'cpu.cfs_period_us': '100000\n' } } } },
})
const count = (files: object): number => processors(t.testdir(files as Parameters<typeof t.testdir>[0]))

t.test('a bound counts, rounded, in both versions of control groups', async t => {
  t.equal(count(second('100000 100000\n')), 1)
  t.equal(count(second('20000 100000\n')), 1, 'never none')
  t.equal(count(first('140000\n')), 1)
  t.equal(count(second('150000 100000\n')), Math.min(2, availableParallelism()))
})

t.test('without a bound, or with more than the machine has, all processors count', async t => {
  const all = availableParallelism()
  for (const files of [second('max 100000\n'), second('99900000 100000\n'), first('-1\n'), {}])
    t.equal(count(files), all, JSON.stringify(files))
})
