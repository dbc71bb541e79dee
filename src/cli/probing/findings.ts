import type { JsonObject } from '../../core/json.js'

/**
 * What a probe found: `yes`, `no`, or a value; `off` if the server says that it could, started otherwise; `unknown` if it could not be
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
  const traits: JsonObject = {
    ...(isNot('max_completion_tokens') && is('max_tokens') && { max_tokens_field: 'max_tokens' }),
    ...(isNot('system') && is('developer') && { system_role: 'developer' }),
    ...(isNot('sampling') && { sampling: false }),
    ...(isNot('structured') && is('tools') && { structured: 'tool' }),
    ...(isNot('reasoning_effort') && { reasoning: 'none' }),
    ...(Number.isFinite(limit) && { max_output: limit }),
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
  const names = new Set([...DECIDED.filter(name => declared.has(name)), ...Object.keys(declaration.traits)])
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
  return [...wrong, ...lost, ...stateDrift(findings, speaks)]
}

interface Declared {
  readonly traits: object
  readonly speaks: Readonly<Record<string, { readonly stateful?: false }>>
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
