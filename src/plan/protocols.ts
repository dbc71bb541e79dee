import type { ProtocolConfig, UsageConfig } from '../core/config.js'
import type { Protocol, UsagePaths } from '../core/plan.js'
import { parsePath } from '../wire/json-edit.js'

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
    const protocol = this.#made.get(name) ?? compileProtocol(name, written ?? {})
    this.#made.set(name, protocol)
    return protocol
  }
}

function compileProtocol(name: string, { end, stream_error, usage, unknown_model }: ProtocolConfig): Protocol {
  return {
    name,
    end: end && { data: end.data, events: end.events ?? [] },
    streamError: stream_error ?? 'family',
    usage: usage && compileUsage(usage),
    unknownModel: unknown_model && {
      status: unknown_model.status,
      param: unknown_model.param,
      message: unknown_model.message,
    },
  }
}

function compileUsage(config: UsageConfig): UsagePaths {
  return Object.fromEntries(Object.entries(config).map(([count, path]: [string, string]) => [count, parsePath(path)]))
}
