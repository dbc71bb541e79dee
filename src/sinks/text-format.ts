import type { Fields, LogRecord, Severity } from '../core/log-record.js'
import type { Format } from './format.js'

/** Codes of SGR (ECMA-48 §8.3.117). */
const CODES = { dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const
type Colour = keyof typeof CODES
type Paint = (colour: Colour, text: string) => string

const PLAIN: Paint = (_colour, text) => text
const COLOURED: Paint = (colour, text) => `\x1b[${CODES[colour]}m${text}\x1b[0m`

const SEVERITY_COLOURS: Readonly<Record<Severity, Colour>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'blue',
  warn: 'yellow',
  error: 'red',
}

/** Longest text of one value, characters. */
const MAX_VALUE_CHARS = 500

/** What a person reads on a terminal: one line a record, in local time. */
export function textFormat(isColoured: boolean): Format {
  const paint = isColoured ? COLOURED : PLAIN
  return record => {
    const { at, worker } = record
    const who = worker === undefined ? '' : ` ${paint('dim', `w${worker}`)}`
    const rest = record.message === 'request' ? requestText(record, paint) : eventText(record, paint)
    return `${paint('dim', clock(at))}${who} ${rest}\n`
  }
}

/** `POST 200 m → up/real  3+1 tokens  0.000013 USD  5.3 ms  key=caller id=…`. */
function requestText({ severity, fields }: LogRecord, paint: Paint): string {
  const { status, method, route, path, model, upstream, target, total_ms: total, first_ms: first } = fields
  const { error, cause, trace, id, key, attempts } = fields
  const parts = [
    paint(statusColour(Number(status), severity), String(status ?? '-')),
    text(method ?? ''),
    ...(model === undefined ? [text(pathOf(route) ?? path ?? '-')] : [paint('cyan', text(model))]),
    ...(upstream === undefined
      ? []
      : [`→ ${text(upstream)}${target === undefined || target === '' ? '' : `/${text(target)}`}`]),
    ...tokensText(fields),
    ...(typeof fields.cost_usd === 'number' ? [`${fields.cost_usd} USD`] : []),
    ...(typeof total === 'number' ? [`${Math.round(total * 10) / 10} ms`] : []),
    ...(typeof first === 'number' && fields.stream === true
      ? [paint('dim', `first ${Math.round(first * 10) / 10} ms`)]
      : []),
    ...(Array.isArray(attempts) && attempts.length > 1 ? [paint('yellow', `${attempts.length} attempts`)] : []),
    ...(error === undefined ? [] : [paint('red', text(error))]),
    ...(cause === undefined ? [] : [text(cause)]),
    paint('dim', pairs({ key, trace, id })),
  ]
  return parts.filter(part => part !== '').join(' ')
}

function statusColour(status: number, severity: Severity): Colour {
  if (severity === 'warn' || status >= 500) return 'red'
  return status >= 400 ? 'yellow' : 'green'
}

/** `POST /v1/chat/completions`: the path alone. */
function pathOf(route: unknown): string | undefined {
  return typeof route === 'string' ? route.slice(route.indexOf(' ') + 1) : undefined
}

function tokensText({ input_tokens: input, output_tokens: output }: Fields): readonly string[] {
  return input === undefined && output === undefined ? [] : [`${input ?? 0}+${output ?? 0} tokens`]
}

function eventText({ severity, message, fields }: LogRecord, paint: Paint): string {
  const word = paint(SEVERITY_COLOURS[severity], severity.toUpperCase().padEnd('ERROR'.length))
  return [word, text(message), pairs(fields)].filter(part => part !== '').join(' ')
}

function pairs(fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${text(value)}`]))
    .join(' ')
}

/** One that a terminal could obey, or that would break the line: controls, separators, marks of direction. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

function text(value: unknown): string {
  const plain = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const safe = plain.replace(UNSAFE, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return safe.length > MAX_VALUE_CHARS ? `${safe.slice(0, MAX_VALUE_CHARS)}…` : safe
}

/** `16:10:32.123`. */
function clock(at: number): string {
  const date = new Date(at)
  const two = (number: number): string => String(number).padStart(2, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
