import t from 'tap'
import { load } from '../../src/config/load.js'
import { compileSchema } from '../../src/config/schemas.js'
import { atOnce } from '../../src/core/steps.js'
import { compiling } from '../../src/plan/compile.js'
import { differenceOf, type Side } from '../../src/plan/difference/difference.js'
import { TrafficReplay } from '../../src/plan/difference/traffic.js'

/** A side with as many models as keys, which counts how often a route is asked for a model's targets. */
async function counted(
  entries: number,
  upstream: string,
): Promise<{ readonly side: Side; readonly asked: () => number }> {
  const names = Array.from({ length: entries }, (_, i) => i)
  const text = JSON.stringify({
    version: 1,
    store: { type: 'memory' },
    upstreams: {
      north: { kind: 'openai-compatible', base: 'https://north.example' },
      south: { kind: 'anthropic', secret: { env: 'SOUTH' } },
    },
    models: Object.fromEntries(names.map(i => [`m${i}`, i % 10 === 0 ? upstream : 'north'])),
    keys: Object.fromEntries(
      names.map(i => [`k${i}`, { secret: { env: `KEY_${i}` }, models: i % 2 === 0 ? ['*'] : [`m${i}`] }]),
    ),
  })
  const loaded = await load({ file: 'gateway.yaml', env: {}, text: Buffer.from(text), secrets: 'assume' })
  const { config, digest, problems } = loaded
  if (config === undefined) throw new Error(problems.map(one => `${one.path} ${one.message}`).join('\n'))
  const { plan } = atOnce(compiling(config, digest, { compileSchema, generated: () => undefined }))
  let count = 0
  for (const route of plan.routes) {
    const resolve = route.resolve.bind(route)
    Object.defineProperty(route, 'resolve', {
      value: (model: string) => {
        count += 1
        return resolve(model)
      },
    })
  }
  return { side: { plan, config }, asked: () => count }
}

t.test('comparing decides as often as there are keys and models, not as often as their product', async t => {
  const decisions = async (entries: number): Promise<number> => {
    const [before, after] = [await counted(entries, 'north'), await counted(entries, 'south')]
    t.ok(differenceOf(before.side, after.side).length > 0)
    return before.asked() + after.asked()
  }
  const [some, twice] = [await decisions(100), await decisions(200)]
  t.ok(some > 0 && twice <= 2.2 * some, `${some}, and ${twice} for twice as many of both`)
})

t.test('a log is decided once for each key, model and route, however long it is', async t => {
  const { side, asked } = await counted(50, 'south')
  const replay = new TrafficReplay(side)
  const route = 'POST /v1/chat/completions'
  const add = (requests: number): void => {
    for (let i = 0; i < requests; i += 1)
      replay.add({ route, key: `k${i % 50}`, model: `m${i % 50}`, upstream: 'north', began: i, ended: i })
  }
  add(50)
  const once = asked()
  add(20_000)
  t.ok(once > 0)
  t.equal(asked(), once, 'nothing is decided anew')
  const { requests, lossy } = replay.facts()
  t.strictSame([requests, lossy], [20_050, { 'chat → messages': 2005 }])
})

t.test('what the report of a log holds is bounded', async t => {
  const { side } = await counted(10, 'north')
  const replay = new TrafficReplay(side, {
    take: ({ key }) => `rate_limited, requests of key ${key}`,
    full: new Map(),
  })
  const route = 'POST /v1/chat/completions'
  for (let i = 0; i < 3000; i += 1) {
    replay.add({ route, key: `unknown-${i}`, model: 'm0', upstream: 'north', began: i, ended: i })
  }
  const { refused } = replay.facts()
  t.strictSame([Object.keys(refused).length, refused.other], [1001, 2000])
})

t.test('what is spoken costs the price of sound, though the upstream counts tokens alone', async t => {
  const text = JSON.stringify({
    version: 1,
    store: { type: 'memory' },
    upstreams: { north: { kind: 'openai-compatible', base: 'https://north.example' } },
    models: { voice: 'north' },
    prices: { voice: { input: 1, output_audio: 10 } },
    keys: { alice: { secret: { env: 'ALICE' } } },
  })
  const { config, digest } = await load({ file: 'gateway.yaml', env: {}, text: Buffer.from(text), secrets: 'assume' })
  if (config === undefined) throw new Error('the configuration is not valid')
  const { plan } = atOnce(compiling(config, digest, { compileSchema, generated: () => undefined }))
  const replay = new TrafficReplay({ plan, config })
  const usage = { input: 1_000_000, output: 1_000_000 }
  replay.add({ route: 'POST /v1/audio/speech', key: 'alice', model: 'voice', upstream: 'north', usage, cost: 1 })
  t.equal(replay.facts().cost.after, 11_000_000)
})
