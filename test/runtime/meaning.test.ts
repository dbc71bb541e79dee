import t from 'tap'
import type { Side } from '../../src/plan/difference/difference.js'
import { meaningOf, weakened } from '../../src/runtime/meaning.js'
import { tryPlan } from '../helpers/plans.js'

type Test = Parameters<typeof tryPlan>[0]

async function sideOf(test: Test, models: number, more = ''): Promise<Side> {
  const names = Array.from({ length: models }, (_, nth) => `  model-${nth}: up\n`).join('')
  const yaml = `version: 1\nupstreams: { up: { kind: simulator } }\nmodels:\n${names}${more}`
  const { plan, config, problems } = await tryPlan(test, yaml)
  if (plan === undefined || config === undefined) throw new Error(JSON.stringify(problems))
  return { plan, config }
}

t.test('a difference of two configurations is counted and listed', async t => {
  const difference = await meaningOf(await sideOf(t, 3), await sideOf(t, 3, '  late: up\n'))
  t.notOk(difference.skipped)
  t.match(difference, { weaker: 0, loss: 0, unreachable: 0 })
  t.ok(difference.lines?.some(line => line.includes('late')))
  t.same(weakened(difference), {})
})

t.test('of many changes the first lines are those that allow more, and all are counted', async t => {
  const keys = (others: number, last: number) => {
    const limits = [...Array.from({ length: 30 }, (_, i) => others + i), last]
    const lines = limits.map((limit, i) => {
      const secret = `{ hash: "sha256:${i.toString().padStart(64, '0')}" }`
      return `  key-${i}: { secret: ${secret}, models: ["*"], limits: { requests: ${limit}/s } }\n`
    })
    return `keys:\n${lines.join('')}`
  }
  const difference = await meaningOf(await sideOf(t, 3, keys(200, 1)), await sideOf(t, 3, keys(100, 2)))
  t.ok(Number(difference.changes) >= 31, `${difference.changes}`)
  t.equal(difference.lines?.length, 20)
  t.match(difference.lines?.[0], /^WEAKER: .*key-30/)
  t.strictSame([difference.weaker, weakened(difference).weakened?.length], [1, 1])
})

t.test('configurations that are too large are not compared, and that is said with the reason', async t => {
  const large = await sideOf(t, 2000)
  t.match(await meaningOf(large, large), {
    skipped: '2001 keys, models and upstreams are more than 2000: gateway plan compares them',
    changes: undefined,
  })
})
