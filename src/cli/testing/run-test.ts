import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { parseDuration } from '../../config/units.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { startGateway } from '../../runtime/gateway.js'
import { ConfigError } from '../../runtime/problems.js'
import { type ClientAnswer, sendRequest, valueAt } from './client.js'
import { faultsOf, type Outcome } from './expectations.js'
import { keyVariable, type OfflineConfig } from './offline-config.js'
import { jsonOrText, ScriptedUpstreams } from './scripted-upstreams.js'
import type { Snapshots } from './snapshots.js'
import type { TestCase, TestRequest } from './test-file.js'
import type { VirtualClock } from './virtual-clock.js'

export interface Ran {
  readonly faults: readonly string[]
  /** Models that the gateway was asked for. */
  readonly models: readonly string[]
  /** Models and upstreams that were called for them. */
  readonly targets: readonly (readonly [string, string])[]
  readonly keys: readonly string[]
}

interface Setting {
  readonly config: OfflineConfig
  readonly snapshots: Snapshots
  /** Of tests with times. */
  readonly clock: VirtualClock | undefined
}

/** Runs one test on a gateway and upstreams of its own. */
export async function runTest(test: TestCase, setting: Setting): Promise<Ran> {
  // Each call starts slowly: what follows it may be no wait.
  const upstreams = new ScriptedUpstreams(test.upstream, () => setting.clock?.run())
  await upstreams.start()
  try {
    return await served(test, setting, upstreams)
  } finally {
    await upstreams.close()
  }
}

async function served(
  test: TestCase,
  { config, snapshots, clock }: Setting,
  upstreams: ScriptedUpstreams,
): Promise<Ran> {
  const secrets = new Map(config.keys.map(name => [name, `gw-${randomBytes(24).toString('hex')}`]))
  const variables = [...secrets.values()].map((secret, at) => [keyVariable(at), secret])
  const documents = config.files(test.upstream, (name, base) => upstreams.baseOf(name, base))
  const lines = new RequestLines()
  const gateway = await startGateway({
    file: config.main,
    documents,
    env: { ...process.env, ...Object.fromEntries(variables) },
    overrides: { host: '127.0.0.1', port: 0, checkResponses: true },
    secrets: 'assume',
    watch: false,
    log: lines,
  }).catch(error => {
    const [first] = error instanceof ConfigError ? error.problems.filter(({ severity }) => severity === 'error') : []
    throw first === undefined ? error : new Error(`${first.path}: ${first.message}`)
  })
  const ran = async (): Promise<Ran> => {
    const outcome = await ask(test, { origin: gateway.origin, secrets, upstreams, lines, clock })
    const { snapshot } = test.expect
    const stored = snapshot === undefined ? [] : snapshots.faults(test.title, snapshot, outcome)
    return { faults: [...faultsOf(test.expect, outcome), ...stored], ...touched(test, lines.all, secrets) }
  }
  const result = await ran().finally(async () => {
    gateway.closeNow()
    await gateway.closed
  })
  // Answers are checked after they have been sent: now all of them are.
  return { ...result, faults: [...result.faults, ...lines.differing] }
}

/** How often a request is repeated until its answer has the status that is waited for, and the pause before it is sent again. */
const MAX_REPEATS = 1500
const PAUSE_MS = 20

/** Whether what the request asks about has not come to the status that is waited for. */
function isUnfinished({ to, until }: TestRequest, { text }: ClientAnswer): boolean {
  return until !== undefined && !to.startsWith('WS ') && valueAt(jsonOrText(text), 'status') !== until
}

interface Running {
  readonly origin: string
  readonly secrets: ReadonlyMap<string, string>
  readonly upstreams: ScriptedUpstreams
  readonly lines: RequestLines
  readonly clock: VirtualClock | undefined
}

/** Sends the requests of a test in turn; what is expected holds for the last. */
async function ask({ request, before }: TestCase, running: Running): Promise<Outcome> {
  const { secrets, upstreams, lines, clock } = running
  const answers: ClientAnswer[] = []
  let line: JsonObject = {}
  for (const one of [...before, request]) {
    const secret = one.key === undefined ? [...secrets.values()][0] : secrets.get(one.key)
    if (secret === undefined) throw new Error(`the configuration has no key ${JSON.stringify(one.key ?? '')}`)
    if (one.after !== undefined) clock?.pass(parseDuration(one.after) ?? 0)
    const send = async (): Promise<ClientAnswer> => {
      clock?.run()
      const earlier = lines.all.length
      const answer = await sendRequest(one, running.origin, secret, answers).finally(() => clock?.rest())
      line = await lines.of(answer, earlier)
      return answer
    }
    let answer = await send()
    for (let repeats = 0; isUnfinished(one, answer) && repeats < MAX_REPEATS; repeats++) {
      await pause(PAUSE_MS)
      answer = await send()
    }
    answers.push(answer)
  }
  const answer = answers.at(-1)
  if (answer === undefined) throw new Error('the test has no request')
  return { ...answer, line, calls: upstreams.calls }
}

/** What of the configuration the requests have touched. */
function touched(
  { request, before }: TestCase,
  lines: readonly JsonObject[],
  secrets: ReadonlyMap<string, string>,
): Omit<Ran, 'faults'> {
  const models = lines.flatMap(({ model }) => (typeof model === 'string' ? [model] : []))
  const targets = lines.flatMap(({ model, upstream, attempts }) => {
    const tried = Array.isArray(attempts) ? attempts.filter(isObject).map(attempt => attempt.upstream) : []
    return [upstream, ...tried].flatMap(name => (typeof name === 'string' ? [[String(model), name] as const] : []))
  })
  const keys = [...before, request].flatMap(({ key }) => key ?? [...secrets.keys()].slice(0, 1))
  return { models, targets, keys }
}

/** Longest wait for a line, milliseconds of real time. */
const LINE_TIMEOUT_MS = 10_000

/** Waits for the log's lines about the requests of a test. */
class RequestLines extends Writable {
  readonly all: JsonObject[] = []
  /** Answers that do not fit the schema of their route. */
  readonly differing: string[] = []
  readonly #given = new Set<JsonObject>()
  #rest = ''
  #onLine: () => void = () => undefined

  /**
   * The line of the request that was answered so; empty where the gateway answers without one. Copies of the request, and requests that the
   * gateway makes for it, have lines of their own. The handshake of a socket may have none: the first line behind so many earlier
   * ones is that of its first message.
   */
  of({ status, headers: { 'x-request-id': id } }: ClientAnswer, earlier: number): Promise<JsonObject> {
    if (id === undefined && status !== 101) return Promise.resolve({})
    return new Promise((resolve, reject) => {
      const none = (): void =>
        id === undefined ? resolve({}) : reject(new Error(`the log has no line of the request ${id}`))
      const timer = setTimeout(none, LINE_TIMEOUT_MS)
      this.#onLine = () => {
        // Clients may give several requests one id.
        const line = id === undefined ? this.all[earlier] : this.all.find(one => one.id === id && !this.#given.has(one))
        if (line === undefined) return
        clearTimeout(timer)
        this.#onLine = () => undefined
        this.#given.add(line)
        resolve(line)
      }
      this.#onLine()
    })
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const lines = (this.#rest + chunk.toString('utf8')).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = jsonOrText(text)
      if (!isObject(line)) continue
      if (line.msg === 'request') this.all.push(line)
      if (line.msg === 'an answer does not fit its schema') this.differing.push(differenceOf(line))
    }
    this.#onLine()
    done()
  }
}

function differenceOf({ route, param, rule }: JsonObject): string {
  return `the answer of ${route} does not fit its schema at ${param === '' ? 'its top' : param}: ${rule}`
}
