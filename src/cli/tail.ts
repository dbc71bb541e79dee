import { InvalidArgumentError } from 'commander'
import { isMilliseconds, isStatus } from '../features/tail/filter.js'
import { adminApiOf, askAdmin, goodAnswer } from './admin-api.js'
import { type Define, example } from './command.js'
import { eventsOf } from './events.js'
import { CommandError, coloured, EXIT, type Io, type Paints, paints, print, printable } from './io.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly admin?: string
  readonly key?: string
  readonly model?: string
  readonly status?: string
  readonly slow?: string
  readonly limit?: number
  readonly json?: true
}

/** `gateway tail`: lines of requests of a running gateway, as they settle. */
export const tailCommand: Define = (parent, io, end) => {
  takesSource(parent.command('tail'))
    .description('show requests of a running gateway as they settle, of all its workers, by its admin API')
    .argument('[file]', FILE_WORDS)
    .option('--admin <origin>', 'where its admin API is, instead of the address in the file')
    .option('--key <name>', 'only requests of this key')
    .option('--model <name>', 'only requests for this model, by its name for clients')
    .option('--status <status>', 'only requests with this status: 404, or 5xx', status)
    .option('--slow <milliseconds>', 'only requests that took at least so long', milliseconds)
    .option('--limit <number>', 'end after so many requests', count)
    .option('--json', 'print one JSON object per request')
    .addHelpText('after', example('gateway tail --status 5xx', 'gateway tail --key team-search --slow 2000'))
    .action(async (file: string | undefined, options: Options) => {
      end(await tail(fileOf(file, options), options, await withVariables(io, options)))
    })
}

async function tail(file: string, { admin, limit, json, ...options }: Options, io: Io): Promise<number> {
  const api = await adminApiOf(file, admin, io)
  const query = new URLSearchParams()
  for (const name of ['key', 'model', 'status', 'slow'] as const) {
    const value = options[name]
    if (value !== undefined) query.set(name, value)
  }
  const text = query.toString()
  const gone = new AbortController()
  // Of a pipe whose reader has ended.
  io.stdout.once('error', () => gone.abort())
  const { signal } = gone
  const { body } = await goodAnswer(await askAdmin(api, `/admin/tail${text === '' ? '' : `?${text}`}`, { signal }))
  const colours = paints(coloured(io.stdout, io.env))
  let shown = 0
  try {
    for await (const { event, data } of eventsOf(body)) {
      if (event === 'lost') print(io.stderr, `${lostOf(data)} requests are not shown: they came too fast`)
      if (event === '' || event === 'lost') continue
      print(io.stdout, json ? data : lineOf(JSON.parse(data) as RequestLine, colours))
      if (++shown === limit) return EXIT.ok
    }
  } catch (error) {
    if (signal.aborted) return EXIT.ok
    throw error
  }
  throw new CommandError(
    'the gateway has ended the connection: it stops, or another process takes its place',
    EXIT.failed,
  )
}

function lostOf(data: string): number {
  return (JSON.parse(data) as { readonly lines: number }).lines
}

/** Members of a line of the log. */
interface RequestLine {
  readonly time: string
  readonly status: number
  readonly method: string
  readonly route?: string
  readonly path?: string
  readonly key?: string
  readonly model?: string
  readonly upstream?: string
  readonly error?: string
  readonly total_ms: number
  readonly input_tokens?: number
  readonly output_tokens?: number
}

function lineOf(line: RequestLine, { green, yellow, red, dim }: Paints): string {
  const { time, status, method, route, path = '', key = '-', model = '-', upstream, error } = line
  const paint = status < 400 ? green : status < 500 ? yellow : red
  const asked = upstream === undefined ? model : `${model} → ${upstream}`
  const { input_tokens: input, output_tokens: output } = line
  const tokens = input === undefined && output === undefined ? [] : [`${input ?? 0}+${output ?? 0} tokens`]
  const parts = [
    route ?? `${method} ${path}`,
    key,
    asked,
    `${Math.round(line.total_ms)} ms`,
    ...tokens,
    ...(error === undefined ? [] : [error]),
  ]
  return `${dim(time.slice(11, 23))} ${paint(String(status))} ${printable(parts.join('  '))}`
}

function status(text: string): string {
  if (!isStatus(text)) throw new InvalidArgumentError('A status such as 404, or a class such as 5xx.')
  return text
}

function milliseconds(text: string): string {
  if (!isMilliseconds(text)) throw new InvalidArgumentError('A number of milliseconds, such as 200.')
  return text
}

function count(text: string): number {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (number < 1) throw new InvalidArgumentError('A number from 1 to 9999999.')
  return number
}
