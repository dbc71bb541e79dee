import type { AmountPaths, AmountsConfig } from '../core/amounts.js'
import type { ProtocolConfig, UsageConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { Subprotocols } from '../core/message-rules.js'
import type { Protocol, Usage, UsagePaths } from '../core/plan.js'
import { amountsOf } from '../core/price-fit.js'
import { type Path, parsePath } from '../wire/json-edit.js'
import { NameSet } from './names.js'

/** Protocols by name, each made once, so that routes that speak the same have the same object. */
export class Protocols {
  readonly #written: Readonly<Record<string, ProtocolConfig>>
  readonly #made = new Map<string, Protocol>()

  constructor(written: Readonly<Record<string, ProtocolConfig>>) {
    this.#written = written
  }

  /** A protocol that nothing is declared of is relayed as it is: its streams end where the transfer ends. */
  get(name: string): Protocol {
    const written = Object.hasOwn(this.#written, name) ? this.#written[name] : undefined
    const found = amountsOf(this.#written, name)
    const amounts = found === undefined ? {} : { amounts: found }
    const protocol = this.#made.get(name) ?? compileProtocol(name, { ...written, ...amounts })
    this.#made.set(name, protocol)
    return protocol
  }
}

function compileProtocol(name: string, config: ProtocolConfig): Protocol {
  const { end, binary, stream_error, usage, amounts, rate_limits, vectors, messages, subprotocols, unknown_model } =
    config
  return {
    name,
    end: end && {
      data: end.data,
      events: end.events ?? [],
      members: (end.members ?? []).map(parsePath),
      repeats: end.repeats ?? false,
    },
    binary: binary ?? (usage === undefined ? undefined : false),
    streamError: stream_error ?? DEFAULTS.protocol.stream_error,
    usage: compileUsage(usage),
    ...(amounts !== undefined && { amounts: compileAmounts(amounts) }),
    ...(rate_limits !== undefined && { rateLimits: rate_limits }),
    vectors: vectors && { at: parsePath(vectors.at), format: vectors.format },
    messages: { counted: messages?.counted ?? [], errorEvent: messages?.error_event ?? false },
    subprotocols: subprotocols && compileSubprotocols(subprotocols),
    unknownModel: unknown_model && {
      status: unknown_model.status,
      param: unknown_model.param,
      message: unknown_model.message,
    },
  }
}

function compileSubprotocols({ pass = [], answer = [] }: NonNullable<ProtocolConfig['subprotocols']>): Subprotocols {
  const passed = new NameSet(pass)
  return { pass: name => passed.has(name), answer }
}

/** Undefined: nothing is declared, and answers are text. */
export function compileAmounts(config: AmountsConfig): AmountPaths
export function compileAmounts(config: AmountsConfig | undefined): AmountPaths | undefined
export function compileAmounts(config: AmountsConfig | undefined): AmountPaths | undefined {
  if (config === undefined) return undefined
  const paths = (written: string | readonly string[] = []): readonly Path[] => [written].flat().map(parsePath)
  const { output, choices, images, characters, items, seconds } = config
  const { audio = false, batch = false, free = false, images_unsaid: imagesUnsaid, token_bytes: tokenBytes } = config
  return {
    output: paths(output),
    choices: paths(choices),
    images: paths(images),
    characters: paths(characters),
    items: paths(items),
    seconds: paths(seconds),
    audio,
    batch,
    free,
    imagesUnsaid,
    tokenBytes,
  }
}

const COUNTS: Readonly<Record<keyof UsageConfig, keyof Usage>> = {
  input: 'input',
  output: 'output',
  total: 'total',
  cached: 'cached',
  cache_write: 'cacheWrite',
  reasoning: 'reasoning',
  input_audio: 'inputAudio',
  output_audio: 'outputAudio',
  seconds: 'seconds',
  searches: 'searches',
}

const USAGE = new WeakMap<UsageConfig, UsagePaths>()

/** Made once of each declaration. */
export function compileUsage(config: UsageConfig | undefined): UsagePaths | undefined {
  if (config === undefined) return undefined
  const made = USAGE.get(config) ?? compilePaths(config)
  USAGE.set(config, made)
  return made
}

function compilePaths(config: UsageConfig): UsagePaths {
  const counts = Object.entries(config) as [keyof UsageConfig, string | readonly string[]][]
  return Object.fromEntries(counts.map(([count, paths]) => [COUNTS[count], [paths].flat().map(parsePath)]))
}
