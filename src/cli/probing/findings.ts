import type { Traits } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import { RERANK_MEMBERS } from './trait-probes.js'

/**
 * What a probe found: `yes`, `no`, or a value; `ignored` if the server takes nonsense, too; `off` if the server says that it could, started otherwise; `unknown` if it could not be
 * asked.
 */
export interface Finding {
  readonly name: string
  readonly what: string
  readonly found: string
  /** What the server said in refusing. */
  readonly reason?: string
}

/** What to write of an upstream. */
export interface Declaration {
  readonly traits: JsonObject
  readonly speaks: JsonObject
  readonly request: readonly JsonObject[]
}

/** Protocols by the probe that shows them. */
const SPOKEN: readonly (readonly [string, string, string])[] = [
  ['responses', 'responses', 'POST /v1/responses'],
  ['messages', 'messages', 'POST /v1/messages'],
  ['count_tokens', 'messages.count_tokens', 'POST /v1/messages/count_tokens'],
  ['generate', 'generate', 'POST /v1beta/models/{model}:generateContent'],
  ['converse', 'converse', 'POST /model/{model}/converse'],
  ['embeddings', 'embeddings', 'POST /v1/embeddings'],
]

/** The declaration that fits what was found. What was not found out is left out. */
export function declarationOf(findings: readonly Finding[]): Declaration {
  const found = (name: string): string => findings.find(one => one.name === name)?.found ?? 'unknown'
  const is = (name: string): boolean => found(name) === 'yes'
  const isNot = (name: string): boolean => found(name) === 'no'
  const isChat = is('max_completion_tokens') || is('max_tokens')
  const limit = Number(found('max_output'))
  const members = RERANK_MEMBERS.filter(member => is(`rerank_${member}`))
  const images = is('image_parts') ? 'parts' : is('image_objects') ? 'objects' : undefined
  const traits: JsonObject = {
    ...(isNot('max_completion_tokens') && is('max_tokens') && { max_tokens_field: 'max_tokens' }),
    ...(isNot('system') && is('developer') && { system_role: 'developer' }),
    ...(isNot('sampling') && { sampling: false }),
    ...(isNot('structured') && is('tools') && { structured: 'tool' }),
    ...(isNot('reasoning_effort') && { reasoning: 'none' }),
    ...(Number.isFinite(limit) && { max_output: limit }),
    ...(isNot('speech') && is('generated_sound') && { audio: 'generate' }),
    ...(images !== undefined && { image_inputs: images }),
    ...(members.length > 0 && { rerank: members }),
  }
  const speaks: JsonObject = {
    ...(isChat && { chat: 'POST /v1/chat/completions' }),
    ...Object.fromEntries(
      SPOKEN.flatMap(([name, protocol, call]) => {
        const isSpoken = is(name) || (name === 'embeddings' && Number.isFinite(Number(found(name))))
        if (protocol === 'responses' && isLesser(findings)) return []
        const isStateless = protocol === 'responses' && isNot('kept_responses')
        return isSpoken ? [[protocol, isStateless ? stateless(call) : call] as const] : []
      }),
    ),
  }
  const removed = [
    // Without tools, or without streams, a refusal says nothing of the member.
    ...(is('tools') && isNot('parallel_calls') ? ['parallel_tool_calls'] : []),
    ...(is('stream') && isNot('stream_usage') ? ['stream_options'] : []),
  ]
  return { traits, speaks, request: isChat && removed.length > 0 ? [{ remove: removed }] : [] }
}

/**
 * Whether chat does more than responses: what is not declared is translated to chat, so that a schema holds. The gateway then keeps the
 * responses, as it would without this.
 */
function isLesser(findings: readonly Finding[]): boolean {
  const found = (name: string): string | undefined => findings.find(one => one.name === name)?.found
  return found('structured') === 'yes' && found('structured_responses') === 'no' && found('kept_responses') === 'no'
}

/** The gateway keeps the responses itself, and the server need not. */
function stateless(call: string): JsonObject {
  return { call, stateful: false, request: [{ set: { store: false } }] }
}

/** What is declared otherwise than it was found, a line each. `traits` and `speaks` are those of the upstream with its kind. */
export function driftOf(
  declaration: Declaration,
  findings: readonly Finding[],
  { traits, speaks }: Declared,
): readonly string[] {
  const declared = new Map<string, unknown>(Object.entries(traits))
  const found = Object.keys(declaration.traits).filter(name => !OF_SOME_MODELS.has(name))
  const names = new Set([...DECIDED.filter(name => declared.has(name)), ...found])
  const wrong = [...names].flatMap(name => {
    const [now, before] = [declaration.traits[name], declared.get(name)]
    // A limit that an error does not name is not known.
    if (now === before || (now === undefined && before === DEFAULTS.get(name))) return []
    // The older name of the limit works, too.
    if (name === 'max_tokens_field' && findings.some(one => one.name === before && one.found === 'yes')) return []
    return [`traits.${name}: declared ${shown(before)}, found ${shown(now)}`]
  })
  const lost = SPOKEN.flatMap(([name, protocol]) => {
    const { found } = findings.find(one => one.name === name) ?? {}
    const isSpoken = protocol in declaration.speaks
    if (found === undefined || found === 'unknown' || found === 'off' || isSpoken === protocol in speaks) return []
    const missing = found === 'no' ? 'not found' : 'it does less than chat'
    return [`speaks.${protocol}: ${isSpoken ? 'found, and not declared' : `declared, and ${missing}`}`]
  })
  return [...wrong, ...mediaDrift(declaration, findings, traits), ...lost, ...stateDrift(findings, speaks)]
}

interface Declared {
  readonly traits: Pick<Traits, 'audio' | 'image_inputs' | 'rerank'>
  readonly speaks: Readonly<Record<string, { readonly stateful?: false }>>
}

/** Traits that only some models of an upstream can have: a refusal counts where the model answers the rest of the protocol. */
const OF_SOME_MODELS: ReadonlySet<string> = new Set(['audio', 'image_inputs', 'rerank'])

function mediaDrift(
  { traits }: Declaration,
  findings: readonly Finding[],
  { audio, image_inputs: images, rerank = [] }: Declared['traits'],
): readonly string[] {
  const found = (name: string): string | undefined => findings.find(one => one.name === name)?.found
  const members = RERANK_MEMBERS.filter(
    member => found(`rerank_${member}`) === (rerank.includes(member) ? 'no' : 'yes'),
  )
  const image = images === undefined ? 'no' : found(`image_${images}`)
  const embeds = Number.isFinite(Number(found('embeddings')))
  const wrong: Readonly<Record<string, boolean>> = {
    audio: traits.audio !== undefined && audio === undefined,
    image_inputs: embeds && image === 'no' && traits.image_inputs !== images,
    rerank: found('rerank') === 'yes' && members.length > 0,
  }
  const before: Readonly<Record<string, unknown>> = { audio, image_inputs: images, rerank }
  return Object.keys(before).flatMap(name =>
    wrong[name] === true ? [`traits.${name}: declared ${shown(before[name])}, found ${shown(traits[name])}`] : [],
  )
}

function stateDrift(findings: readonly Finding[], { responses }: Declared['speaks']): readonly string[] {
  const kept = findings.find(({ name }) => name === 'kept_responses')?.found
  const keeps = responses?.stateful !== false
  if (responses === undefined || kept !== (keeps ? 'no' : 'yes')) return []
  return [`speaks.responses.stateful: declared ${keeps}, found ${!keeps}`]
}

/** Traits that the probes decide, and what holds without them. */
const DEFAULTS = new Map<string, unknown>([
  ['max_tokens_field', 'max_completion_tokens'],
  ['system_role', 'system'],
  ['sampling', true],
  ['structured', 'schema'],
  ['reasoning', 'effort'],
])
const DECIDED = [...DEFAULTS.keys()]

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
