import type { Json } from '../core/json.js'
import { LongText, type Overflow } from '../core/long-text.js'
import type { CallPart, Part, ReasoningPart, Seal, TextEvent, TextRequest, Turn } from '../core/text.js'

/** Maximum length of the reasoning that is remembered from one answer; longer reasoning is not remembered. */
const MAX_THOUGHT_CHARS = 512 * 1024

/** What must precede and accompany the calls of an answer when the conversation continues. */
interface Sealed {
  readonly thoughts: readonly Thought[]
  /** By the id of the call. */
  readonly seals: Readonly<Record<string, Seal>>
}

interface Thought {
  readonly part: ReasoningPart
  /** The id of the call that it led to. */
  readonly before: string
}

/** The remembered reasoning of a request's turns, by their index. */
export type Recalled = ReadonlyMap<number, Sealed>

/** Where seals wait for the next request of their owner: a caller's name. */
export interface SealMemory {
  /** Keeps `sealed` to be found by any of the calls. */
  remember(owner: string, callIds: readonly string[], sealed: Json): Promise<unknown>
  find(owner: string, callId: string): Promise<Json | undefined>
}

/**
 * Gathers the sealed thoughts of an answer that calls tools, for clients whose protocol has no place to send them back:
 * without them the model could not continue, or would refuse to.
 */
export class SealGatherer {
  /** Thoughts and calls by their index, in the order in which they began. */
  readonly #parts = new Map<
    number,
    { readonly part: ReasoningPart | CallPart; text: LongText; seal: Seal | undefined }
  >()
  readonly #overflow: Overflow | undefined
  #size = 0

  /** `overflow`: for thoughts that are long. */
  constructor(overflow?: Overflow) {
    this.#overflow = overflow
  }

  event(event: TextEvent): void {
    if (!('index' in event) || event.candidate !== 0) return
    switch (event.type) {
      case 'part-start': {
        const { part } = event
        if (part.type !== 'reasoning' && part.type !== 'call') return
        const text = new LongText(this.#overflow)
        if (part.type === 'reasoning') text.append(part.text)
        this.#size += text.length
        this.#parts.set(event.index, { part, text, seal: part.seal })
        return
      }
      case 'part-delta': {
        const thought = this.#parts.get(event.index)
        if (thought?.part.type !== 'reasoning') return
        this.#size += event.text.length
        if (this.#size <= MAX_THOUGHT_CHARS) thought.text.append(event.text)
        return
      }
      case 'part-end': {
        const part = this.#parts.get(event.index)
        if (part !== undefined && event.seal !== undefined) part.seal = event.seal
        return
      }
      default:
    }
  }

  parts(parts: readonly Part[]): void {
    for (const [index, part] of parts.entries()) this.event({ type: 'part-start', candidate: 0, index, part })
  }

  /** Remembers what was gathered, if the answer calls a tool and anything of it is sealed. */
  async remember(memory: SealMemory, owner: string | undefined): Promise<void> {
    if (owner === undefined || !this.isSealed || this.#size > MAX_THOUGHT_CHARS) return
    const ids = [...this.#parts.values()].flatMap(({ part }) => (part.type === 'call' ? [part.id] : []))
    await memory.remember(owner, ids, this.sealed() as unknown as Json)
  }

  get isSealed(): boolean {
    const parts = [...this.#parts.values()]
    return parts.some(({ part }) => part.type === 'call') && parts.some(({ seal }) => seal !== undefined)
  }

  /** Thoughts behind the last call led to nothing yet, and upstreams refuse them there. */
  private sealed(): Sealed {
    const thoughts: Thought[] = []
    const seals: [string, Seal][] = []
    let waiting: ReasoningPart[] = []
    for (const { part, text, seal } of this.#parts.values()) {
      if (part.type === 'reasoning') {
        waiting.push({ ...part, text: text.toString(), ...(seal !== undefined && { seal }) })
        continue
      }
      thoughts.push(...waiting.map(thought => ({ part: thought, before: part.id })))
      waiting = []
      if (seal !== undefined) seals.push([part.id, seal])
    }
    return { thoughts, seals: Object.fromEntries(seals) }
  }
}

const NOTHING: Recalled = new Map()

/**
 * What the gateway remembers of the turns that call tools and whose thoughts the client could not send back. Throws
 * `unavailable` where the store fails.
 */
export async function recallSeals(
  memory: SealMemory,
  owner: string | undefined,
  { turns }: TextRequest,
  protocol: string,
): Promise<Recalled> {
  if (owner === undefined || !turns.some(turn => lacksSeals(turn, protocol))) return NOTHING
  const recalled = new Map<number, Sealed>()
  for (const [index, turn] of turns.entries()) {
    const first = turn.parts.find(part => part.type === 'call')
    if (first?.type !== 'call' || !lacksSeals(turn, protocol)) continue
    const sealed = await memory.find(owner, first.id)
    if (sealed !== undefined) recalled.set(index, sealed as unknown as Sealed)
  }
  return recalled
}

/** Marks of the client's own protocol say only where its thoughts stood, and a seal needs its text. */
function lacksSeals({ role, parts }: Turn, protocol: string): boolean {
  const isTorn = (part: Part): boolean => part.type === 'reasoning' && part.torn === true
  const unsealed = parts.every(part => part.seal === undefined || part.seal.by === protocol || isTorn(part))
  return role === 'assistant' && unsealed && parts.some(({ type }) => type === 'call')
}

/**
 * Puts remembered reasoning back before the calls that it led to, for an upstream of the protocol that sealed it.
 * Other protocols cannot use it. The client never sent it, so leaving it out is not reported as a loss.
 */
export function withRecalled(request: TextRequest, recalled: Recalled, protocol: string): TextRequest {
  if (recalled.size === 0) return request
  const turns = request.turns.map((turn, index) => {
    const sealed = recalled.get(index)
    return sealed === undefined || !isFor(sealed, protocol) ? turn : withSeals(turn, sealed)
  })
  return { ...request, turns }
}

function isFor({ thoughts, seals }: Sealed, protocol: string): boolean {
  return [...thoughts.map(({ part }) => part.seal), ...Object.values(seals)].every(
    seal => seal === undefined || seal.by === protocol,
  )
}

/** Reasoning of the first call precedes all text of the turn; the rest precedes its own call. */
function withSeals(turn: Turn, { thoughts, seals }: Sealed): Turn {
  const others = turn.parts.filter(part => part.type !== 'reasoning' || thoughts.length === 0)
  const first = others.find(part => part.type === 'call')
  const led = (call: Part | undefined): readonly Part[] =>
    call?.type === 'call' ? thoughts.filter(({ before }) => before === call.id).map(({ part }) => part) : []
  const parts = others.flatMap((part): readonly Part[] => {
    if (part.type !== 'call') return [part]
    const seal = Object.hasOwn(seals, part.id) ? seals[part.id] : undefined
    return [...(part === first ? [] : led(part)), seal === undefined ? part : { ...part, seal }]
  })
  return { ...turn, parts: [...led(first), ...parts] }
}
