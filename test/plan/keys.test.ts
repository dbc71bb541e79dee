import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Caller } from '../../src/core/caller.js'
import type { KeyConfig } from '../../src/core/config.js'
import { packageRoot } from '../../src/core/package-root.js'
import { Secret } from '../../src/core/secret.js'
import { atOnce } from '../../src/core/steps.js'
import { compileKeys, type DigestRing } from '../../src/plan/keys.js'
import { Policies } from '../../src/plan/policies.js'
import { Problems } from '../../src/plan/problems.js'
import { Regions } from '../../src/plan/regions.js'
import { collected } from '../helpers/collected.js'
import { keyOf } from '../helpers/config-builder.js'

const NOW = Date.UTC(2026, 0, 1)

function ringOf(keys: Readonly<Record<string, KeyConfig>>, made?: string): DigestRing {
  const problems = new Problems()
  const ring = atOnce(compileKeys(keys, () => (made === undefined ? undefined : new Secret(made)), problems))
  if (problems.found.length > 0) throw new Error(JSON.stringify(problems.found))
  return ring
}

/** The caller's name, or why it was refused. */
function outcome(ring: DigestRing, presented: string, now = NOW): string {
  const found = ring.find(presented, now)
  return 'refused' in found ? found.refused : found.name
}

t.test('a caller is as strict as its key', async t => {
  const ring = ringOf({ loose: keyOf('loose-key'), exact: keyOf('exact-key', { strict: true }) })
  t.match(ring.find('loose-key', NOW), { strict: false })
  t.match(ring.find('exact-key', NOW), { strict: true })
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

t.test('a key is found by its value', async t => t.equal(outcome(ringOf({ ops: keyOf('key-1') }), 'key-1'), 'ops'))

t.test('a key is found by its digest', async t => {
  const ring = ringOf({ ops: keyOf('', { secrets: [{ type: 'digest', sha256: sha256('key-1') }] }) })
  t.equal(outcome(ring, 'key-1'), 'ops')
  t.equal(outcome(ring, sha256('key-1')), 'unknown')
})

t.test('during a rotation both keys are good', async t => {
  const secrets = ['old', 'new'].map(key => ({ type: 'plain', secret: new Secret(key) }) as const)
  const ring = ringOf({ ops: keyOf('', { secrets }) })
  t.same([outcome(ring, 'old'), outcome(ring, 'new'), outcome(ring, 'older')], ['ops', 'ops', 'unknown'])
})

t.test('a key that the gateway makes is found once it is made', async t => {
  const keys = { local: keyOf('', { secrets: [{ type: 'generated' }] }) }
  t.equal(outcome(ringOf(keys, 'made'), 'made'), 'local')
  t.equal(outcome(ringOf(keys), 'made'), 'unknown')
})

t.test('a key without a secret lets no one in', async t => {
  const ring = ringOf({ ops: keyOf('', { secrets: [], absent: 'KEY is not set' }) })
  t.equal(outcome(ring, ''), 'malformed')
  t.equal(outcome(ring, 'undefined'), 'unknown')
})

t.test('F-A1 near misses are unknown', async t => {
  const ring = ringOf({ ops: keyOf('sk-Key-1') })
  for (const near of ['sk-key-1', 'sk-Key-', 'sk-Key-11', ' sk-Key-1', 'sk-Key-1 ']) {
    t.equal(outcome(ring, near), 'unknown', near)
  }
})

t.test('F-A1 what cannot be a key is refused before it is digested', async t => {
  const ring = ringOf({ ops: keyOf('k') })
  for (const odd of ['', 'x'.repeat(513), 'k\n', 'k\0', '\x7f', 'ü', '😀', 'x'.repeat(1 << 20)]) {
    t.equal(outcome(ring, odd), 'malformed', JSON.stringify(odd.slice(0, 10)))
  }
  t.equal(outcome(ring, 'x'.repeat(512)), 'unknown')
})

t.test('a key is good until it expires', async t => {
  const ring = ringOf({ ops: keyOf('k', { expires: NOW }) })
  t.equal(outcome(ring, 'k', NOW - 1), 'ops')
  t.equal(outcome(ring, 'k', NOW), 'expired')
})

t.test('a disabled key is refused, expired or not', async t => {
  t.equal(outcome(ringOf({ ops: keyOf('k', { disabled: true, expires: 0 }) }), 'k'), 'disabled')
})

t.test('a key that is the same in the next plan keeps nothing of the plan before', async t => {
  const compile = (keys: Readonly<Record<string, KeyConfig>>, before?: DigestRing) => {
    const regions = new Regions()
    const ring = atOnce(
      compileKeys(keys, () => undefined, new Problems(), before, new Policies({}, undefined, regions)),
    )
    return { ring, regions: new WeakRef(regions) }
  }
  const ops = keyOf('key-1')
  let { ring, regions } = compile({ ops })
  const first = regions
  for (const name of ['second', 'third']) ({ ring, regions } = compile({ ops, [name]: keyOf(name) }, ring))
  t.equal(await collected([first]), 0)
  t.equal(outcome(ring, 'key-1'), 'ops')
})

t.test('no key is called by the names of built-ins', async t => {
  const ring = ringOf({ ops: keyOf('k') })
  for (const name of ['__proto__', 'constructor', 'toString']) t.equal(outcome(ring, name), 'unknown')
})

t.test('a caller may use what its list names, and names are exact', async t => {
  const caller = ringOf({ ops: keyOf('k', { models: ['embed', 'swift-*'] }) }).find('k', NOW) as Caller
  t.ok(caller.may('embed') && caller.may('swift-small'))
  for (const model of ['', 'Embed', 'embed ', 'embed\0', 'models/embed', 'swift', `swift-${'x'.repeat(300)}`]) {
    t.notOk(caller.may(model), model.slice(0, 20))
  }
})

t.test('a caller with * may use every name that can be one', async t => {
  const caller = ringOf({ ops: keyOf('k') }).find('k', NOW) as Caller
  t.ok(caller.may('anything at all'))
  t.notOk(caller.may('line\nfeed'))
  t.notOk(caller.may('x'.repeat(1 << 20)), 'F-C12')
})

t.test('a caller with an empty list may use nothing', async t => {
  const caller = ringOf({ ops: keyOf('k', { models: [] }) }).find('k', NOW) as Caller
  t.notOk(caller.may('embed') || caller.may(''))
})

t.test('a key that no client could send is a problem, told without the key', async t => {
  const problems = new Problems()
  atOnce(compileKeys({ ops: keyOf(`top-secret${'x'.repeat(512)}`) }, () => undefined, problems))
  t.match(problems.found, [{ path: 'keys.ops.secret', rule: 'malformed-secret', severity: 'error' }])
  t.notMatch(JSON.stringify(problems.found), /top-secret/)
})

t.test('by its name a key is found as if it had been presented', async t => {
  const ring = ringOf({ ops: keyOf('a'), old: keyOf('b', { expires: NOW }) })
  t.match(ring.named('ops', NOW), { name: 'ops' })
  t.same(ring.named('old', NOW), { refused: 'expired' })
  t.equal(ring.named('constructor', NOW), undefined)
})

t.test('F-A2 a key that has not been seen before takes the same steps whether it is known or not', async t => {
  const source = readFileSync(join(packageRoot(), 'src/plan/keys.ts'), 'utf8')
  const body = /find\(presented: string[\s\S]*?\n {2}\}/.exec(source)?.[0] ?? ''
  t.match(body, /hash\('sha256', presented[\s\S]*\.get\([\s\S]*timingSafeEqual\(/, 'in this order')
  const steps = body.slice(body.indexOf('hash('), body.indexOf('timingSafeEqual('))
  t.notMatch(steps, /return/, 'no way out between the digest and the comparison')
  t.notMatch(body, /[!=]== ?presented|presented ?[!=]==/, 'the key itself is compared with nothing')
})
