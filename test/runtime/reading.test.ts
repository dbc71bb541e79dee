import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import t, { type Test } from 'tap'
import type { Plan } from '../../src/core/plan.js'
import { Secret } from '../../src/core/secret.js'
import { explainPlan, explainRequest } from '../../src/plan/explain.js'
import { type LoadedPlan, loadPlan, type Running, reloadPlan } from '../../src/runtime/load.js'
import { Parcel, unwrap } from '../../src/runtime/reading/parcel.js'
import { isSame } from '../../src/runtime/reading/same.js'
import { fc } from '../helpers/property.js'

/** So many that a thread reads them. */
const MODELS = 200
const KEYS = 120
const ROUNDS = Number(process.env.RELOAD_ROUNDS ?? 4)
const ENV = { KEY_A: 'caller-key-a-0123456789', NORTH_API_KEY: 'north-secret-0123456789' }

interface State {
  readonly models: Record<string, string>
  readonly keys: Record<string, string>
  readonly routes: Record<string, string>
  readonly kind: number
  readonly header: number
  readonly schema: number
  readonly included: boolean
}

function hashed(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function stateOf(): State {
  const models = Array.from({ length: MODELS }, (_, i) => [`m-${i}`, `{ upstream: north, as: real-${i} }`])
  const keys = Array.from({ length: KEYS }, (_, i) => [
    `k-${i}`,
    `{ secret: { hash: "${hashed(`key-${i}`)}" }, models: [m-${i}] }`,
  ])
  return {
    models: Object.fromEntries([...models, ['g-*', '{ upstream: north, as: "x-*" }']]),
    keys: Object.fromEntries([...keys, ['a', '{ secret: { env: KEY_A } }']]),
    routes: { 'POST /own': '{ protocol: chat, model: body.model, stream: body.stream, schema: own }' },
    kind: 0,
    header: 0,
    schema: 0,
    included: false,
  }
}

function section(entries: Readonly<Record<string, string>>): string {
  return Object.entries(entries)
    .map(([name, text]) => `\n  "${name}": ${text}`)
    .join('')
}

function write(folder: string, { models, keys, routes, kind, header, schema, included }: State): void {
  mkdirSync(join(folder, 'more'), { recursive: true })
  writeFileSync(
    join(folder, 'gateway.yaml'),
    `version: 1
include: [models.yaml, keys.yaml, "more/*.yaml"]
kinds:
  compass: { base: "https://north.example/v${kind}", speaks: { chat: POST /chat } }
upstreams:
  north: { kind: compass, credential: { in: header, name: authorization, scheme: Bearer, secret: { env: NORTH_API_KEY } }, headers: { x-version: "${header}" } }
  sim: { kind: simulator }
schemas: { own: ./own.json }
`,
  )
  writeFileSync(join(folder, 'models.yaml'), `models:${section(models)}\n`)
  writeFileSync(join(folder, 'keys.yaml'), `keys:${section(keys)}\n`)
  writeFileSync(join(folder, 'more/routes.yaml'), `routes:${section(routes)}\n`)
  writeFileSync(join(folder, 'more/late.yaml'), included ? 'models: { late: sim }\n' : '# nothing yet\n')
  const own = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', required: [`field${schema}`] }
  writeFileSync(join(folder, 'own.json'), JSON.stringify(own))
}

const VALUES = [
  '{ upstream: north, as: other }',
  'sim',
  '[ { upstream: north, as: x }, sim ]',
  '{ upstream: sim, request: [ { set: { b: 1, a: 2 } } ] }',
  '{ upstream: sim, request: [ { set: { a: 2, b: 1 } } ] }',
  '{ upstream: north, as: y, traits: { max_output: 100 }, strict: true }',
  '{ targets: [ sim, north ], timeouts: { idle: 5s }, owner: somebody }',
]
const ACCESS = ['models: [m-1, g-*]', 'models: ["*"], strict: true', 'disabled: true', 'models: [late, m-2]']

/** One change of a person's, as a function of what was there. */
const edits: fc.Arbitrary<(state: State) => State> = fc.oneof(
  fc.tuple(fc.nat(MODELS + 5), fc.constantFrom(...VALUES)).map(([i, text]) => (state: State) => ({
    ...state,
    models: { ...state.models, [`m-${i}`]: text },
  })),
  fc.nat(MODELS - 1).map(i => (state: State) => ({ ...state, models: without(state.models, `m-${i}`) })),
  fc.nat(MODELS - 1).map(i => (state: State) => {
    const [name, text] = [`m-${i}`, state.models[`m-${i}`] ?? 'sim']
    return { ...state, models: { [name]: text, ...without(state.models, name) } }
  }),
  fc.tuple(fc.nat(KEYS + 5), fc.constantFrom(...ACCESS)).map(([i, access]) => (state: State) => ({
    ...state,
    keys: { ...state.keys, [`k-${i}`]: `{ secret: { hash: "${hashed(`key-${i}`)}" }, ${access} }` },
  })),
  fc.nat(KEYS - 1).map(i => (state: State) => ({
    ...state,
    keys: { ...state.keys, [`k-${i}`]: `{ secret: { hash: "${hashed(`rotated-${i}`)}" } }` },
  })),
  fc.nat(KEYS - 1).map(i => (state: State) => ({ ...state, keys: without(state.keys, `k-${i}`) })),
  fc.constantFrom('POST /own', 'POST /own/2').map(id => (state: State) => ({
    ...state,
    routes: id in state.routes ? {} : { [id]: '{ protocol: chat, model: body.model, stream: body.stream }' },
  })),
  fc.nat(3).map(kind => (state: State) => ({ ...state, kind })),
  fc.nat(3).map(header => (state: State) => ({ ...state, header })),
  fc.nat(3).map(schema => (state: State) => ({ ...state, schema })),
  fc.boolean().map(included => (state: State) => ({ ...state, included })),
)

function without(entries: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([one]) => one !== name))
}

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-reading-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

type Sound = Running & Pick<LoadedPlan, 'parsed'>

function sound({ plan, config, problems, parsed }: LoadedPlan): Sound {
  if (plan === undefined || config === undefined) throw new Error(JSON.stringify(problems.slice(0, 3), undefined, 1))
  return { plan, config, parsed }
}

/** What a plan does, as far as requests see it. */
function behaviour({ plan, config }: Running, names: readonly string[]): unknown {
  const secrets = ['caller-key-a-0123456789', ...names.flatMap((_, i) => [`key-${i}`, `rotated-${i}`])]
  return {
    text: explainPlan(plan, config),
    callers: secrets.map(secret => {
      const caller = plan.keys.find(secret, Date.now())
      return 'refused' in caller ? caller.refused : [caller.name, caller.strict, names.filter(caller.may)]
    }),
    exchanges: names.map(model => exchangesOf(plan, model)),
    listed: listed(plan),
    requests: names.slice(0, 3).map(model => explainRequest(plan, { method: 'POST', path: '/own', model, key: 'a' })),
    violations: plan.routes.find(route => route.id === 'POST /own')?.validate?.({}),
  }
}

function exchangesOf(plan: Plan, model: string): unknown {
  return plan.routes.map(route =>
    route.resolve(model)?.groups.map(({ exchanges, weights }) => [
      weights,
      exchanges.map(({ upstream, model: asked, call, request, timeouts, retry, translation }) => [
        [upstream.name, upstream.origin, upstream.headers, asked, call.text, timeouts, retry.attempts],
        [translation?.traits, translation?.strict, request && Buffer.from(request(Buffer.from('{}'))).toString()],
      ]),
    ]),
  )
}

function listed(plan: Plan): unknown {
  const caller = plan.keys.find('caller-key-a-0123456789', Date.now())
  return 'refused' in caller ? [] : plan.models.list(caller)
}

t.test('after any edits the plan is the one that a start would make', async t => {
  const folder = folderOf(t)
  const options = { file: join(folder, 'gateway.yaml'), env: ENV }
  let state = stateOf()
  write(folder, state)
  let running = sound(await loadPlan(options))
  const names = ['m-0', 'm-1', 'm-2', 'm-7', 'late', 'g-a', 'nothing']
  const rounds = fc.sample(fc.array(edits, { minLength: 1, maxLength: 40 }), { numRuns: ROUNDS })
  for (const round of rounds) {
    const before = running
    for (const edit of round) state = edit(state)
    write(folder, state)
    running = sound(await reloadPlan(options, before, before.parsed))
    const fresh = sound(await loadPlan(options))
    t.ok(isSame(running.config, fresh.config), 'the configuration is the same, to the order of its members')
    const asked = [...names, ...Object.keys(state.models).slice(0, 5)]
    const [reloaded, started] = [behaviour(running, asked), behaviour(fresh, asked)]
    // Comparing texts takes a hundredth of the time.
    if (JSON.stringify(reloaded) === JSON.stringify(started)) t.pass('requests see no difference')
    else t.same(reloaded, started)
    const kept = Object.keys(fresh.config.models).filter(
      name => running.config.models[name] === before.config.models[name],
    )
    t.ok(kept.length > MODELS / 2, 'what has not changed is kept')
  }
})

t.test('problems found while reading and while compiling have their file, line and column', async t => {
  const folder = folderOf(t)
  const options = { file: join(folder, 'gateway.yaml'), env: ENV }
  write(folder, stateOf())
  const running = sound(await loadPlan(options))
  const broken = { ...stateOf(), models: { ...stateOf().models, 'm-3': 'nowhere', 'm-150': '{ upstreem: north }' } }
  const clash = { ...stateOf(), routes: { 'POST /v1/chat/completions': '{ protocol: chat }', 'GET /x/{a}': 'off' } }
  for (const state of [broken, clash]) {
    write(folder, state)
    const [reloaded, fresh] = [await reloadPlan(options, running, running.parsed), await loadPlan(options)]
    t.not(fresh.problems.length, 0)
    t.same(reloaded.problems, fresh.problems)
    t.equal(reloaded.plan === undefined, fresh.plan === undefined)
  }
})

t.test('an unchanged configuration is the running plan', async t => {
  const folder = folderOf(t)
  const options = { file: join(folder, 'gateway.yaml'), env: ENV }
  write(folder, stateOf())
  const running = sound(await loadPlan(options))
  write(folder, stateOf())
  t.equal((await reloadPlan(options, running, running.parsed)).plan, running.plan)
})

t.test('large files that did not change are not parsed again', async t => {
  const folder = folderOf(t)
  const options = { file: join(folder, 'gateway.yaml'), env: ENV }
  write(folder, stateOf())
  const running = sound(await loadPlan(options))
  const [keys, models] = ['keys.yaml', 'models.yaml'].map(name => join(folder, name)) as [string, string]
  t.same([...running.parsed.keys()].sort(), [keys, models])
  const known = running.parsed.get(models)
  // What the load before said of a file with this digest is believed: that shows that the file is not parsed.
  const changed = { type: 'routes', digest: known?.digest ?? '', json: '{"models":{"other":"sim"}}' } as const
  write(folder, { ...stateOf(), header: 1 })
  const believed = sound(await reloadPlan(options, running, new Map([[models, changed]])))
  t.same(Object.keys(believed.config.models), ['other'])
  t.same(believed.parsed.get(models), changed)
  write(folder, { ...stateOf(), models: { ...stateOf().models, 'm-0': 'sim' } })
  const reread = sound(await reloadPlan(options, running, new Map([[models, changed]])))
  t.equal(Object.keys(reread.config.models).length, MODELS + 1)
})

t.test('a file is kept only if JSON has all that it says, and if there is no problem in it', async t => {
  const folder = folderOf(t)
  const options = { file: join(folder, 'gateway.yaml'), env: ENV }
  const odd = (value: string): string => `{ upstream: sim, request: [ { set: { a: ${value} } } ] }`
  for (const value of ['.inf', '-0.0', '[ { b: .nan } ]']) {
    write(folder, { ...stateOf(), models: { ...stateOf().models, odd: odd(value) } })
    t.notOk((await loadPlan(options)).parsed.has(join(folder, 'models.yaml')), value)
  }
  write(folder, { ...stateOf(), models: { ...stateOf().models, 'm-1': '{ upstreem: sim }' } })
  t.notOk((await loadPlan(options)).parsed.has(join(folder, 'models.yaml')), 'a misfit')
})

t.test('threads hand over secrets, objects without a prototype, and odd names', async t => {
  const bare: Record<string, unknown> = Object.create(null)
  for (const name of ['__proto__', 'constructor']) bare[name] = { deep: [1, null, true, undefined] }
  const value = { secret: new Secret('canary'), bare, own: JSON.parse('{"__proto__": {"x": 1}, "toString": 2}') }
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(new Parcel(value).content)
  const back = unwrap(receiveMessageOnPort(port2)?.message) as typeof value
  port1.close()
  t.ok(isSame(back, value))
  t.equal(back.secret.reveal(), 'canary')
  t.equal(Object.getPrototypeOf(back.bare), null)
  t.equal(Object.getPrototypeOf(back.own), Object.prototype)
  t.same(Object.keys(back.own), ['__proto__', 'toString'])
})

t.test('the same is the same to the order of its members', async t => {
  t.ok(isSame({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }))
  for (const other of [{ b: 1, a: 2 }, { a: 2 }, { a: 2, b: '1' }, { a: 2, b: 1, c: undefined }, [2, 1], null]) {
    t.notOk(isSame({ a: 2, b: 1 }, other), JSON.stringify(other))
  }
  t.ok(isSame(new Secret('x'), new Secret('x')))
  t.notOk(isSame(new Secret('x'), new Secret('y')))
  t.notOk(isSame(new Secret('x'), {}))
})
