import t from 'tap'
import { load } from '../../src/config/load.js'
import { compileSchema } from '../../src/config/schemas.js'
import { atOnce } from '../../src/core/steps.js'
import { compiling } from '../../src/plan/compile.js'
import { differenceOf, type Side } from '../../src/plan/difference/difference.js'
import { headline } from '../../src/plan/difference/headline.js'
import { TrafficReplay } from '../../src/plan/difference/traffic.js'
import { type Ask, type RequestFacts, requestFacts } from '../../src/plan/explain.js'

const CHAT = { method: 'POST', path: '/v1/chat/completions', model: 'swift' } as const
const ROUTE = `${CHAT.method} ${CHAT.path}`

/** A model with these targets, for a key of the group `research` and one of no group. */
async function side(targets: readonly unknown[]): Promise<Side> {
  const base = 'https://up.example'
  const text = JSON.stringify({
    version: 1,
    interfaces: ['compatible'],
    store: { type: 'memory' },
    upstreams: {
      north: { kind: 'openai-compatible', base },
      east: { kind: 'anthropic', base, secret: { env: 'EAST' } },
    },
    models: { swift: targets },
    groups: { research: {} },
    keys: {
      ada: { secret: { env: 'ADA' }, group: 'research', routes: [ROUTE] },
      bob: { secret: { env: 'BOB' }, routes: [ROUTE] },
    },
  })
  const loaded = await load({ file: 'gateway.yaml', env: {}, text: Buffer.from(text), secrets: 'assume' })
  const { config, digest, problems } = loaded
  if (config === undefined) throw new Error(problems.map(one => `${one.path} ${one.message}`).join('\n'))
  return { plan: atOnce(compiling(config, digest, { compileSchema, generated: () => undefined })).plan, config }
}

/** The upstreams that are asked, or the status. */
function result({ error, exchanges }: RequestFacts): string {
  return error === undefined ? exchanges.map(({ upstream }) => upstream).join(' ') : `${error.status} ${error.code}`
}

async function explained(targets: readonly unknown[], ask: Partial<Ask>): Promise<string> {
  return result(requestFacts((await side(targets)).plan, { ...CHAT, key: 'bob', ...ask }))
}

t.test(
  'a request that no target is for is refused, with the reason, and each target that is left out is named',
  async t => {
    const { plan } = await side([{ upstream: 'north', when: { stream: true } }])
    const facts = requestFacts(plan, { ...CHAT, key: 'bob' })
    t.match(facts, {
      error: { status: 400, code: 'invalid_parameter', reason: 'north: stream' },
      left_out: ['north: stream: not for this request (stream)'],
      exchanges: [],
    })
    t.match(requestFacts(plan, { ...CHAT, key: 'bob', stream: true }), { exchanges: [{ upstream: 'north' }] })
  },
)

t.test('a target that is not for the request neither refuses it nor has a place among the others', async t => {
  const targets = [{ upstream: 'east', when: { group: ['research'] } }, 'north']
  const body = JSON.stringify({ model: 'swift', messages: [{ role: 'user', content: 'hi' }], logit_bias: { 1: 2 } })
  const strict = { strict: true, name: 'bob', models: ['*'], may: () => true }
  t.equal(await explained(targets, { body, caller: strict }), 'north')
  t.equal(await explained(targets, { key: 'ada' }), 'east north')
  const { exchanges } = requestFacts((await side(targets)).plan, { ...CHAT, key: 'bob' })
  t.match(exchanges, [{ group: 1, upstream: 'north', retry: { others: 0 } }])
})

t.test(
  'what is not known leaves no target out: headers, the body where none is given, the key where none is',
  async t => {
    const targets = [
      { upstream: 'east', when: { header: { 'x-tier': 'gold' }, tokens: { larger_than: 100 }, group: ['research'] } },
      'north',
    ]
    const body = JSON.stringify({ model: 'swift', messages: [{ role: 'user', content: 'hi' }] })
    t.equal(await explained(targets, { key: 'ada' }), 'east north')
    t.equal(await explained(targets, { key: undefined }), 'east north')
    t.equal(await explained(targets, { key: 'ada', body }), 'north')
    const { plan } = await side(targets)
    const [first] = requestFacts(plan, CHAT).exchanges
    t.match(first?.when, /: for a request with its headers and its body and its key$/)
  },
)

/** Headlines of what differs for requests, by key. */
async function changed(before: readonly unknown[], after: readonly unknown[]): Promise<readonly string[]> {
  return differenceOf(await side(before), await side(after)).map(headline)
}

t.test('a condition on the only target of a model makes the other requests unreachable', async t => {
  const shown = `model swift for keys ada, bob on ${ROUTE}`
  t.strictSame(await changed(['north'], [{ upstream: 'north', when: { stream: true } }]), [
    `UNREACHABLE: ${shown}: north as swift → north as swift; whole answers: 400 invalid_parameter`,
  ])
  t.strictSame(await changed(['north'], [{ upstream: 'north', when: { stream: false } }]), [
    `UNREACHABLE: ${shown}: north as swift → north as swift; streams: 400 invalid_parameter`,
  ])
  t.strictSame(await changed(['north'], [{ upstream: 'north', when: { group: ['research'] } }]), [
    `model swift for key ada on ${ROUTE}: north as swift`,
    `UNREACHABLE: model swift for key bob on ${ROUTE}: north as swift → 400 invalid_parameter`,
  ])
  t.strictSame(await changed(['north'], [{ upstream: 'north', when: { key: ['b*'] } }]), [
    `UNREACHABLE: model swift for key ada on ${ROUTE}: north as swift → 400 invalid_parameter`,
    `model swift for key bob on ${ROUTE}: north as swift`,
  ])
})

t.test('translation loses nothing of requests that go to another target', async t => {
  const changes = await changed(['north'], [{ upstream: 'east', when: { group: ['research'] } }, 'north'])
  t.match(changes, [
    /^LOSS: model swift for key ada .*: north as swift → east as swift \(translated to messages\), then north/,
    /^model swift for key bob .*: north as swift$/,
  ])
})

t.test('a log is decided by whether its requests are streams', async t => {
  const replay = new TrafficReplay(await side([{ upstream: 'north', when: { stream: true } }]))
  const past = { route: ROUTE, key: 'bob', model: 'swift', upstream: 'north' }
  replay.add({ ...past, stream: true })
  replay.add({ ...past, stream: false })
  t.match(replay.facts(), { same: 1, unreachable: 1, refused: { '400 invalid_parameter': 1 } })
})
