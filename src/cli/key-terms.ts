import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseMoment } from '../config/units.js'
import { PRIORITIES } from '../core/priority.js'
import type { KeyTerms } from '../features/keys/record.js'
import { list } from './command.js'

/** What the options of a command say that a key may do. */
export interface TermOptions {
  readonly group?: string
  readonly models?: readonly string[]
  readonly routes?: readonly string[]
  readonly networks?: readonly string[]
  readonly regions?: readonly string[]
  readonly priority?: string
  readonly expires?: string
  readonly requests?: readonly string[]
  readonly tokens?: readonly string[]
  readonly budget?: readonly string[]
  readonly inFlight?: string
  readonly streams?: string
  readonly maxOutput?: string
  readonly body?: string
}

export function takesTerms(command: Command): Command {
  return command
    .option('--group <name>', 'group of the file whose limits hold as well')
    .option('--models <globs>', 'models that the key may use, separated by commas (default: all)', list)
    .option('--routes <globs>', 'routes that the key may use, separated by commas (default: all)', list)
    .option('--networks <list>', 'networks that the key may be used from, separated by commas (default: all)', list)
    .option(
      '--regions <list>',
      'regions of the upstreams that the key may reach, separated by commas (default: all)',
      list,
    )
    .addOption(new Option('--priority <priority>', 'when there is too much to do').choices([...PRIORITIES]))
    .option(
      '--expires <date>',
      'expiry of the key: end of a day in UTC (2030-12-31), or a time (2030-12-31T18:00:00Z)',
      keyExpiry,
    )
}

/** `none` takes a limit away. */
export function takesLimits(command: Command): Command {
  return command
    .option('--requests <rate>', 'requests in a window, such as 10/s; repeatable', append)
    .option('--tokens <rate>', 'tokens in a window, such as 100k/min; repeatable', append)
    .option('--budget <amount>', 'spending in a window, as "5 USD/day"; repeatable', append)
    .option('--in-flight <number>', 'requests at once')
    .option('--streams <number>', 'streams at once')
    .option('--max-output <tokens>', 'tokens of one answer')
    .option('--body <size>', 'largest request body, such as 2MiB')
}

/** In the words of an entry of `keys`. */
export function termsOf(options: TermOptions): KeyTerms {
  const {
    group,
    models,
    routes,
    networks,
    regions,
    priority,
    expires,
    requests,
    tokens,
    budget,
    inFlight,
    streams,
    maxOutput,
    body,
  } = options
  const limits = defined({
    requests: one(requests),
    tokens: one(tokens),
    budget: one(budget),
    in_flight: number(inFlight),
    streams: number(streams),
    max_output: number(maxOutput),
    body,
  })
  const given = defined({ group, models, routes, networks, regions, priority, expires })
  return (Object.keys(limits).length === 0 ? given : { ...given, limits }) as KeyTerms
}

function one(values: readonly string[] | undefined): string | readonly string[] | undefined {
  return values?.length === 1 ? values[0] : values
}

/** A number where it is one: the schema says what is wrong with anything else. */
function number(text: string | undefined): string | number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text
}

function defined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function append(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

export function keyName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('A name consists of letters, digits, dots, underscores and dashes.')
  }
  return text
}

export function keyExpiry(text: string): string {
  const last = parseMoment(text)
  if (last === undefined) throw new InvalidArgumentError('Write a date as 2030-12-31 or 2030-12-31T18:00:00Z.')
  if (last <= Date.now()) throw new InvalidArgumentError('This date is in the past.')
  return text
}
