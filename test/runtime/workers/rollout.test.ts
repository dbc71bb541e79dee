import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../../src/core/config.js'
import { NOTHING } from '../../../src/features/generations/measured.js'
import { loadPlan, type Running } from '../../../src/runtime/load.js'
import { Assembly } from '../../../src/runtime/reading/slices.js'
import type { Member } from '../../../src/runtime/workers/crew.js'
import { Link, NoAnswer } from '../../../src/runtime/workers/link.js'
import { COMMIT, DROP, ENTRIES, MEASURED, PREPARE, TRY } from '../../../src/runtime/workers/messages.js'
import { Rollout } from '../../../src/runtime/workers/rollout.js'
import { withStartSettings } from '../../../src/runtime/workers/start-settings.js'

t.setTimeout(60_000)

async function runningOf(test: Pick<typeof t, 'teardown'>, yaml: string): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-rollout-'))
  test.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, yaml)
  const { plan, config, problems } = await loadPlan({ file, env: { KEY: 'a-key-of-the-rollout-0123456789' } })
  if (plan === undefined || config === undefined) throw new Error(JSON.stringify(problems))
  return { plan, config }
}

const YAML = `version: 1
keys: { caller: { secret: { env: KEY }, models: ["*"] } }
upstreams: { up: { kind: openai-compatible, base: "http://127.0.0.1:9", secret: { env: KEY } } }
models: { m: up }
`

function secretsOf(config: Config | undefined): string {
  const [secret] = config?.keys.caller?.secrets ?? []
  return secret?.type === 'plain' ? secret.secret.reveal() : ''
}

/** The other end of a member, which keeps what arrives. */
class Receiver {
  readonly events: string[] = []
  readonly member: Member
  config: Config | undefined
  fault: string | undefined
  isStuck = false
  #assembly = new Assembly(undefined)

  constructor(number: number, generation = 1) {
    const near: Link = new Link((frame, sent) => {
      sent()
      setImmediate(() => far.receive(frame))
    })
    const far: Link = new Link((frame, sent) => {
      sent()
      setImmediate(() => near.receive(frame))
    })
    this.member = { number, pid: number, link: near, generation, tries: 0, ready: new Set() }
    far.on(ENTRIES, entries => this.#assembly.add(entries))
    far.on(PREPARE, ({ settings, generation }) => {
      this.config = this.#assembly.finish(settings)
      this.#assembly = new Assembly(undefined)
      this.events.push(`prepare ${generation}`)
      return this.fault === undefined ? {} : { fault: this.fault }
    })
    far.on(COMMIT, () => {
      if (this.isStuck) throw new Error('stuck')
      this.events.push('commit')
    })
    far.on(TRY, ({ number: tried, share }) => void this.events.push(`try ${tried} ${share}`))
    far.on(MEASURED, () => ({
      fresh: { requests: number, failures: 1, times: [[3, number] as const] },
      stable: NOTHING,
    }))
    far.on(DROP, () => void this.events.push('drop'))
  }
}

function rolloutOf(running: Running, receivers: readonly Receiver[]): { rollout: Rollout; stuck: number[] } {
  const stuck: number[] = []
  const rollout = new Rollout(running, {
    members: () => receivers.filter(({ member }) => member.generation > 0).map(({ member }) => member),
    simulatorFor: async () => undefined,
    onStuck: ({ number }) => void stuck.push(number),
  })
  return { rollout, stuck }
}

t.test('all workers prepare a plan, then all change over, and each has the whole configuration', async t => {
  const first = await runningOf(t, YAML)
  const receivers = [new Receiver(1), new Receiver(2), new Receiver(3)]
  const { rollout } = rolloutOf(first, receivers)
  const next = await runningOf(t, YAML.replace('m: up', 'm: up, n: up'))
  const prepared = await rollout.prepare(next, 2)
  for (const { events } of receivers) t.same(events, ['prepare 2'])
  await prepared.commit()
  for (const { events, member, config } of receivers) {
    t.same(events, ['prepare 2', 'commit'])
    t.equal(member.generation, 2)
    t.strictSame(JSON.parse(JSON.stringify(config)), JSON.parse(JSON.stringify(next.config)))
    t.match(secretsOf(config), 'a-key-of-the-rollout-0123456789')
  }
})

t.test('one worker cannot serve it: no worker changes over', async t => {
  const first = await runningOf(t, YAML)
  const receivers = [new Receiver(1), new Receiver(2), new Receiver(3)]
  const { rollout } = rolloutOf(first, receivers)
  const [, second] = receivers
  if (second !== undefined) second.fault = 'no memory is left'
  await t.rejects(rollout.prepare(first, 2), /not all workers can serve it: worker 2: no memory is left/)
  await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
  for (const { events, member } of receivers) {
    t.same(events, ['prepare 2', 'drop'])
    t.equal(member.generation, 1)
  }
})

t.test('a worker that dies while it prepares is left out; its successor gets what holds then', async t => {
  const first = await runningOf(t, YAML)
  const [one, dying] = [new Receiver(1), new Receiver(2)]
  const { rollout } = rolloutOf(first, [one, dying])
  const preparing = rollout.prepare(first, 2)
  dying.member.generation = 0
  dying.member.link.close()
  await (await preparing).commit()
  t.same(one.events, ['prepare 2', 'commit'])
  const successor = new Receiver(2, 0)
  let started = 0
  await rollout.greet(successor.member, async number => {
    started = number
  })
  t.equal(started, 2)
  t.same(successor.events, ['prepare 2'])
  t.equal(successor.member.generation, 2)
})

t.test('a worker that does not answer is replaced, and keeps no plan from the others', async t => {
  const first = await runningOf(t, YAML)
  const receivers = [new Receiver(1), new Receiver(2)]
  const { rollout, stuck } = rolloutOf(first, receivers)
  const [one, silent] = receivers.map(({ member }) => member.link)
  if (silent !== undefined) silent.ask = () => Promise.reject(new NoAnswer('no answer in time'))
  await (await rollout.prepare(first, 2)).commit()
  t.same(receivers[0]?.events, ['prepare 2', 'commit'])
  t.same(new Set(stuck), new Set([2]))
  if (one !== undefined) one.ask = () => Promise.reject(new NoAnswer('no answer in time'))
  await t.rejects(rollout.prepare(first, 3), /worker 1: no answer in time; worker 2: no answer in time/)
  t.same(new Set(stuck), new Set([2]), 'where none answers, none is stuck')
})

t.test(
  'a worker that started with the plan before catches up, and one that does not change over is replaced',
  async t => {
    const first = await runningOf(t, YAML)
    const [one, stuck, late] = [new Receiver(1), new Receiver(2), new Receiver(3, 0)]
    const { rollout, stuck: replaced } = rolloutOf(first, [one, stuck])
    stuck.isStuck = true
    await rollout.greet(late.member, async () => {
      const prepared = await rollout.prepare(first, 2)
      await prepared.commit()
    })
    t.same(late.events, ['prepare 1', 'prepare 2', 'commit'])
    t.equal(late.member.generation, 2)
    t.same(replaced, [2])
  },
)

t.test(
  'a worker that begins later has the store and the address of the others, and the new models and admin key',
  async t => {
    const admin = (key: string): string => `admin: { secret: { env: ${key} } }\n`
    const first = await runningOf(t, `${YAML}${admin('KEY')}`)
    const { config: next } = await runningOf(
      t,
      `${YAML.replace('m: up', 'n: up')}store: { type: memory }\nlisten: { port: 1 }\nspool: { body: 1KiB }\ntransport: node\n`,
    )
    const { store, listen, spool, transport } = first.config
    const mixed = withStartSettings(next, first.config)
    t.strictSame({ ...mixed, models: undefined }, { ...mixed, store, listen, spool, transport, models: undefined })
    t.same(Object.keys(mixed.models), ['n'])
    t.equal(mixed.admin?.port, first.config.admin?.port)
  },
)

t.test(
  'a worker that begins later has of the admin listener what is live as it is now, and what is gone is gone',
  async t => {
    const oidc = 'oidc: { issuer: "https://id.example.com", client_id: c, role: { claim: role, map: { ops: admin } } }'
    const live = `secret: { env: KEY }, write: true, metrics: open, ${oidc}`
    const { config: first } = await runningOf(t, `${YAML}admin: { port: 8081, console: false, ${live} }\n`)
    const { config: plain } = await runningOf(
      t,
      `${YAML}admin: { port: 1, console: true, secret: { env: ABSENT }, metrics: off }\n`,
    )
    const mixed = withStartSettings(plain, first)
    const { host, isRequired } = first.admin ?? {}
    t.strictSame(mixed.admin, { host, port: 8081, isRequired, console: false, write: false })
    const back = withStartSettings(first, plain)
    t.strictSame(back.admin, { ...first.admin, port: 1, console: true })
  },
)

t.test('all workers try a plan, one that begins meanwhile tries it too, and it goes live or is given up', async t => {
  const first = await runningOf(t, YAML)
  const receivers = [new Receiver(1), new Receiver(2)]
  const late = new Receiver(3, 0)
  const { rollout } = rolloutOf(first, [...receivers, late])
  const next = await runningOf(t, YAML.replace('m: up', 'm: up, n: up'))
  const tried = await rollout.prepare(next, 2)
  await tried.try(0.05)
  for (const { events } of receivers) t.same(events, ['prepare 2', 'try 2 0.05'])
  await rollout.greet(late.member, async () => undefined)
  t.same(late.events, ['prepare 1', 'prepare 2', 'try 2 0.05'])
  t.match(await rollout.measured(), { fresh: { requests: 6, failures: 3, times: [[3, 6]] } })

  const other = await rollout.prepare(next, 3)
  await other.try(0.1)
  other.drop()
  await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
  t.same(late.events.slice(3), ['prepare 3', 'try 3 0.1', 'drop'])
  t.match(await rollout.measured(), { fresh: { requests: 0 } })

  const last = await rollout.prepare(next, 4)
  await last.try(0.1)
  await last.commit()
  for (const { events, member } of receivers) {
    t.same(events.slice(-3), ['prepare 4', 'try 4 0.1', 'commit'])
    t.equal(member.generation, 4)
  }
})
