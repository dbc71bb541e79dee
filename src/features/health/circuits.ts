import type { HealthChange, HealthPart, HealthRule, PartStanding } from '../../core/health.js'
import type { Exchange, Upstream } from '../../core/plan.js'
import { Circuit } from './circuit.js'
import type { Fault } from './verdict.js'

/** Most circuits of a process. There is one only for what has failed lately; clients may name models that do not exist. */
const MAX_CIRCUITS = 10_000

/** In place of the credential of an upstream that has none. */
const NO_CREDENTIAL = ''

/** What is asked. */
type Target = Pick<Exchange, 'upstream' | 'model'>

interface Entry {
  readonly part: HealthPart
  readonly circuit: Circuit
}

/** The circuits of a process, by what they are of. What does not fail has none, and costs nothing. */
export class Circuits {
  readonly #entries = new Map<string, Entry>()
  /** How many are not closed. */
  open = 0
  /** One has opened or closed here, not by what another process says. */
  onChange: (change: HealthChange) => void = () => undefined
  readonly #now: () => number
  #isKnown: (part: HealthPart) => boolean = () => true

  /** Milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#entries.size
  }

  /** Those of a target that are not closed. */
  openOf({ upstream, model }: Target): readonly Circuit[] {
    const found: Circuit[] = []
    for (const key of keysOf(upstream, model)) {
      const circuit = this.#entries.get(key)?.circuit
      if (circuit?.isOpen === true) found.push(circuit)
    }
    return found
  }

  /** The one of the upstream as a whole. */
  ofUpstream(upstream: Upstream): Circuit | undefined {
    return this.#entries.get(upstreamKey(upstream))?.circuit
  }

  ofCredential(upstream: Upstream): Circuit | undefined {
    return this.#entries.get(credentialKey(upstream))?.circuit
  }

  answered({ upstream, model }: Target, now: number, begun: number, rule: HealthRule): void {
    for (const key of keysOf(upstream, model)) {
      const entry = this.#entries.get(key)
      if (entry !== undefined) this.#change(entry, now, () => entry.circuit.answered(now, begun, rule))
    }
  }

  succeeded({ upstream, model }: Target, now: number, begun: number, rule: HealthRule): void {
    for (const key of keysOf(upstream, model)) {
      const entry = this.#entries.get(key)
      if (entry === undefined) continue
      this.#change(entry, now, () => entry.circuit.succeeded(now, begun, rule))
      if (entry.circuit.isForgettable(now, rule)) this.#entries.delete(key)
    }
  }

  failed(target: Target, { part, reason, asked, isUnsent }: Fault, now: number, begun: number, rule: HealthRule): void {
    const { upstream, model } = target
    // It has been reached, and has let the gateway in: what was open for that is closed.
    if (part !== 'upstream' && isUnsent !== true) this.#reached(upstreamKey(upstream), now, begun, rule)
    if (part === 'model') this.#reached(credentialKey(upstream), now, begun, rule)
    const entry = this.#entryOf(partOf(target, part), partKey(upstream, model, part))
    this.#change(entry, now, () => entry.circuit.failed(now, begun, rule, reason, Math.random(), asked))
  }

  /** Of one part: what other processes may know of it. */
  standingOf(part: HealthPart): PartStanding | undefined {
    const entry = this.#entries.get(keyOf(part))
    const standing = entry?.circuit.standing
    return standing && { ...entry.part, ...standing }
  }

  /** What other processes may know of it: what is open, and what has closed lately. */
  snapshot(): readonly PartStanding[] {
    const shown: PartStanding[] = []
    for (const { part, circuit } of this.#entries.values()) {
      if (circuit.standing !== undefined) shown.push({ ...part, ...circuit.standing })
    }
    return shown
  }

  /** Takes over what others know better: for each circuit the latest change counts. */
  merge(foreign: readonly PartStanding[]): void {
    for (const { upstream, definition, credential, model, ...standing } of foreign) {
      const part: HealthPart = {
        ...{ upstream, definition },
        ...(credential === undefined ? {} : { credential }),
        ...(model === undefined ? {} : { model }),
      }
      const key = keyOf(part)
      const known = this.#entries.get(key)
      if (!this.#isKnown(part) || (known === undefined && !standing.isOpen)) continue
      const { circuit } = known ?? this.#entryOf(part, key)
      const wasOpen = circuit.isOpen
      circuit.adopt(standing, this.#now())
      this.open += Number(circuit.isOpen) - Number(wasOpen)
    }
  }

  /** Forgets what is no longer known, and learns nothing of such from others. */
  keep(isKnown: (part: HealthPart) => boolean): void {
    this.#isKnown = isKnown
    for (const [key, { part }] of this.#entries) if (!isKnown(part)) this.#remove(key)
  }

  #reached(key: string, now: number, begun: number, rule: HealthRule): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#change(entry, now, () => entry.circuit.succeeded(now, begun, rule))
  }

  #entryOf(part: HealthPart, key: string): Entry {
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= MAX_CIRCUITS && oldest !== undefined) this.#remove(oldest)
    const entry = { part, circuit: new Circuit() }
    this.#entries.set(key, entry)
    return entry
  }

  #remove(key: string): void {
    if (this.#entries.get(key)?.circuit.isOpen === true) this.open--
    this.#entries.delete(key)
  }

  #change({ part, circuit }: Entry, now: number, learn: () => void): void {
    const before = circuit.standing
    learn()
    const after = circuit.standing
    if (after === undefined || after === before) return
    this.open += Number(after.isOpen) - Number(before?.isOpen === true)
    const pause = after.isOpen ? after.until - now : 0
    this.onChange({ ...part, to: circuit.state(now), reason: after.reason, pause })
  }
}

function partOf({ upstream: { name, definition, credential }, model }: Target, part: Fault['part']): HealthPart {
  const whole = { upstream: name, definition }
  if (part === 'upstream') return whole
  return part === 'model' ? { ...whole, model } : { ...whole, credential: credential ?? NO_CREDENTIAL }
}

function partKey(upstream: Upstream, model: string, part: Fault['part']): string {
  if (part === 'upstream') return upstreamKey(upstream)
  return part === 'model' ? modelKey(upstream, model) : credentialKey(upstream)
}

function keysOf(upstream: Upstream, model: string): readonly string[] {
  return [upstreamKey(upstream), credentialKey(upstream), modelKey(upstream, model)]
}

function keyOf({ upstream: name, definition, credential, model }: HealthPart): string {
  const whole = { name, definition }
  if (model !== undefined) return modelKey(whole, model)
  return credential === undefined ? upstreamKey(whole) : credentialKey({ ...whole, credential })
}

/** Of an upstream: names have no line breaks. */
type Whole = Pick<Upstream, 'name' | 'definition'>

function upstreamKey({ name, definition }: Whole): string {
  return `${name}\n${definition}`
}

function credentialKey({ name, definition, credential = NO_CREDENTIAL }: Whole & Pick<Upstream, 'credential'>): string {
  return `${upstreamKey({ name, definition })}\nc${credential}`
}

function modelKey(whole: Whole, model: string): string {
  return `${upstreamKey(whole)}\nm${model}`
}
