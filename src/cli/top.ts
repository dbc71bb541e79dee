import { setTimeout as delay } from 'node:timers/promises'
import { InvalidArgumentError } from 'commander'
import { type AdminApi, adminApiOf, askAdmin, goodAnswer } from './admin-api.js'
import { type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, type Paint, paints, print } from './io.js'
import { readSamples, type Sample, sumBy } from './samples.js'
import { nextSignal } from './signals.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly admin?: string
  readonly interval: number
  readonly once?: true
}

const MS_PER_SECOND = 1000
const DEFAULT_SECONDS = 2
/** How long a page of metrics may take: of thousands of models it is long. */
const ANSWER_MS = 10_000
/** Rows of each table, unless a terminal has its own number. */
const MAX_ROWS = 20
/** Clears the screen and goes to its first place. Lines are cut off at its edge until the page ends. */
const [PAGE, PAGE_END] = ['\x1b[H\x1b[2J\x1b[?7l', '\x1b[?7h']
/** The head of a page, and an empty line and the titles of each table. */
const LINES_BESIDE_ROWS = 5
const BREAKERS = ['closed', 'half open', 'open']

/** `gateway top`: what a running gateway does at the moment. */
export const topCommand: Define = (parent, io, end) => {
  takesSource(parent.command('top'))
    .description(
      'show what a running gateway does: requests, tokens and breakers by model and upstream, by its admin API',
    )
    .argument('[file]', FILE_WORDS)
    .option('--admin <origin>', 'where its admin API is, instead of the address in the file')
    .option('--interval <seconds>', 'time between two looks', seconds, DEFAULT_SECONDS)
    .option('--once', 'print the rates of one interval and end; so it does unless the output is a terminal')
    .addHelpText('after', example('gateway top', 'gateway top --once --interval 10'))
    .action(async (file: string | undefined, options: Options) => {
      end(await top(fileOf(file, options), options, await withVariables(io, options)))
    })
}

async function top(file: string, { admin, interval, once }: Options, io: Io): Promise<number> {
  const api = await adminApiOf(file, admin, io)
  const isLive = once !== true && io.stdout.isTTY === true && io.env.TERM !== 'dumb'
  const { bold } = paints(coloured(io.stdout, io.env))
  const stop = new AbortController()
  if (isLive) void nextSignal().then(() => stop.abort())
  io.stdout.once('error', () => stop.abort())
  try {
    let before = await look(api, stop.signal)
    do {
      await delay(interval * MS_PER_SECOND, undefined, { signal: stop.signal })
      const now = await look(api, stop.signal)
      const { head, tables } = shown(before, now)
      if (isLive) print(io.stdout, PAGE + page(head, tables, bold, io.stdout.rows || undefined) + PAGE_END)
      else print(io.stdout, page(head, tables, bold))
      before = now
    } while (isLive)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  return EXIT.ok
}

interface Look {
  readonly at: number
  readonly samples: readonly Sample[]
}

async function look(api: AdminApi, stopped: AbortSignal): Promise<Look> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_MS)])
  const answer = await goodAnswer(await askAdmin(api, '/metrics', { signal }))
  const text = await answer.text().catch(() => {
    throw new CommandError(`${api.origin} broke its answer off, or took too long`, EXIT.failed)
  })
  return { at: performance.now(), samples: readSamples(text) }
}

/** The last line of a screen stays empty. `screen`: lines of it. */
function page(head: string, [one, other]: readonly [Table, Table], paint: Paint, screen?: number): string {
  if (screen === undefined)
    return [head, ...[one, other].flatMap(each => ['', table({ ...each, paint, maxRows: MAX_ROWS })])].join('\n')
  const room = screen - 1 - LINES_BESIDE_ROWS
  const rooms = [Math.max(Math.floor(room / 2), room - other.rows.length)]
  rooms.push(room - Math.min(one.rows.length, rooms[0] ?? 0))
  const texts = [one, other].flatMap((each, at) => [
    '',
    table({ ...each, paint, maxRows: rowsIn(rooms[at] ?? 0, each) }),
  ])
  return [head, ...texts]
    .join('\n')
    .split('\n')
    .slice(0, screen - 1)
    .join('\n')
}

/** A line says how many others there are. */
function rowsIn(lines: number, { rows }: Table): number {
  return rows.length <= lines ? rows.length : Math.max(0, lines - 1)
}

interface Shown {
  readonly head: string
  readonly tables: readonly [Table, Table]
}

function shown(before: Look, now: Look): Shown {
  const seconds = (now.at - before.at) / MS_PER_SECOND
  const rate = (
    name: string,
    label: string,
    only: Readonly<Record<string, string>> = {},
  ): ReadonlyMap<string, number> => {
    const earlier = sumBy(before.samples, name, label, only)
    const rates = [...sumBy(now.samples, name, label, only)].map(
      ([value, sum]) => [value, Math.max(0, sum - (earlier.get(value) ?? 0)) / seconds] as const,
    )
    return new Map(rates)
  }
  const total = (name: string): number => [...sumBy(now.samples, name, '').values()].reduce((sum, one) => sum + one, 0)
  const requests = rate('gateway_requests_total', 'model')
  const all = [...requests.values()].reduce((sum, one) => sum + one, 0)
  const head = [
    `${total('gateway_requests_in_flight')} requests in flight`,
    `${all.toFixed(1)} requests a second`,
    `${total('gateway_client_connections')} connections`,
    `${(total('process_memory_usage_bytes') / 1024 ** 2).toFixed(0)} MiB`,
    `generation ${total('gateway_config_generation')}`,
  ].join(', ')
  return { head, tables: [models(requests, rate), upstreams(now, rate)] }
}

type Rate = (name: string, label: string, only?: Readonly<Record<string, string>>) => ReadonlyMap<string, number>

type Table = Pick<Parameters<typeof table>[0], 'head' | 'rows'>

function models(requests: ReadonlyMap<string, number>, rate: Rate): Table {
  const tokens = 'gen_ai_client_token_usage_sum'
  const label = 'gen_ai_request_model'
  const [input, output] = ['input', 'output'].map(type => rate(tokens, label, { gen_ai_token_type: type }))
  const failed = rate('gateway_requests_total', 'model', { outcome: 'upstream_error' })
  const rows = [...requests]
    .filter(([name]) => name !== '')
    .toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
    .map(([name, one]) => [name, ...[one, failed.get(name), input?.get(name), output?.get(name)].map(text)])
  return { head: ['model', 'req/s', 'failed/s', 'input tok/s', 'output tok/s'], rows }
}

function upstreams({ samples }: Look, rate: Rate): Table {
  const [busy, waiting] = ['in_use', 'waiting'].map(use => sumBy(samples, `gateway_upstream_pool_${use}`, 'upstream'))
  const attempts = rate('gateway_upstream_attempts_total', 'upstream')
  const rows = [...sumBy(samples, 'gateway_upstream_breaker_state', 'upstream')].map(([name, state]) => {
    const breaker = BREAKERS[state] ?? ''
    return [name, String(busy?.get(name) ?? 0), String(waiting?.get(name) ?? 0), text(attempts.get(name)), breaker]
  })
  return { head: ['upstream', 'in flight', 'waiting', 'attempts/s', 'breaker'], rows }
}

function text(rate: number | undefined): string {
  return (rate ?? 0).toFixed(1)
}

function seconds(written: string): number {
  const number = /^\d{1,3}(\.\d)?$/.test(written) ? Number(written) : 0
  if (number <= 0) throw new InvalidArgumentError('A number of seconds, such as 2 or 0.5.')
  return number
}
