import t, { type Test } from 'tap'
import { type Trial, tryLoad } from './support.js'

/** Line 3 is the key's, line 4 that of groups. */
function fileWith(t: Test, key: string, groups = '', targets = '[north, south]'): Promise<Trial> {
  return tryLoad(
    t,
    `version: 1
keys:
  me: { secret: { env: GATEWAY_KEY, generate: true }${key} }
groups: {${groups} }
upstreams:
  north: { kind: simulator, region: eu }
  south: { kind: simulator, region: us }
  sim: { kind: simulator }
models: { m: ${targets}, other: south, plain: sim }
`,
  )
}

const CASES: readonly (readonly [string, string, string, readonly string[]])[] = [
  [', regions: [eu]', '', '', []],
  [', regions: [eu, us]', '', '', []],
  [', regions: [eu], models: [other]', '', '', ['no-region 3:64']],
  [', regions: [eu], models: ["o*"]', '', '', ['no-region 3:64']],
  [', regions: [eu], models: ["*"]', '', '', []],
  [', regions: [asia]', '', '', ['no-region 3:64', 'unknown-region 3:65']],
  [', regions: [us, asia]', '', '', ['unknown-region 3:69']],
  [', group: g', ' g: { regions: [eu] }', '', []],
  [', group: g', ' g: { regions: [eu], models: [other] }', '', ['no-region 3:62']],
  [', group: g, regions: [us]', ' g: { regions: [eu] }', '', ['no-region 3:74']],
  [', group: g, regions: [us, eu]', ' g: { group: h }, h: { regions: [eu] }', '', []],
  [', group: g, regions: [us]', ' g: { group: h }, h: { regions: [eu] }', '', ['no-region 3:74']],
  [', regions: [eu]', '', '[south, sim]', ['no-region 3:64']],
]

for (const [key, groups, targets, expected] of CASES) {
  t.test(`a key with regions must reach a model: ${key}${groups} ${targets}`, async t => {
    const { reported, config } = await fileWith(t, key, groups, targets || undefined)
    const ours = reported.filter(one => one.includes('region'))
    t.same(ours, expected)
    t.equal(
      config === undefined,
      expected.some(one => one.startsWith('no-region')),
    )
  })
}
