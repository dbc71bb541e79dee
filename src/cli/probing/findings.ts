import type { Traits } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import { purposesIn, refusesPurposes } from './media-probes.js'
import { type Found, LIMIT_PROBES, speaksChat } from './probes.js'
import { RERANK_MEMBERS } from './trait-probes.js'

/**
 * What a probe found: `yes`, `no`, or a value; `ignored` if the server takes nonsense, too; `off` if the server says that it could, started otherwise; `unknown` if that did
 * not show; `not asked` after what others found.
 */
export interface Finding {
  readonly name: string
  readonly what: string
  readonly found: string
  /** What the server said in refusing, or why it was not asked. */
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
  ['moderations', 'moderations', 'POST /v1/moderations'],
  ['makes_images', 'images.generations', 'POST /v1/images/generations'],
  ['makes_images_predict', 'predict', 'POST /v1beta/models/{model}:predict'],
]

/** The list may still grow. */
export function foundIn(findings: readonly Finding[]): Found {
  return name => findings.find(one => one.name === name)?.found ?? 'unknown'
}

/** The declaration that fits what was found. What was not found out is left out. */
export function declarationOf(findings: readonly Finding[]): Declaration {
  const found = foundIn(findings)
  const is = (name: string): boolean => found(name) === 'yes'
  const isNot = (name: string): boolean => found(name) === 'no'
  const chats = speaksChat(found)
  const isChat = is('max_completion_tokens') || is('max_tokens')
  const limit = Number(found('max_output'))
  const members = RERANK_MEMBERS.filter(member => is(`rerank_${member}`))
  const images = is('image_parts') ? 'parts' : is('image_objects') ? 'objects' : undefined
  const purposes = purposesIn(found)
  const fetched = fetchedBy(findings)
  // The usual protocols need no word.
  const maker = is('makes_images_chat') ? 'chat' : is('makes_images_predict') && is('generate') ? 'predict' : undefined
  const traits: JsonObject = {
    ...(isNot('max_completion_tokens') && is('max_tokens') && { max_tokens_field: 'max_tokens' }),
    ...(isNot('system') && is('developer') && { system_role: 'developer' }),
    ...(chats && isNot('sampling') && { sampling: false }),
    ...(isNot('structured') && is('tools') && { structured: 'tool' }),
    ...(chats && isNot('reasoning_effort') && { reasoning: 'none' }),
    ...(Number.isFinite(limit) && { max_output: limit }),
    ...(isNot('speech') && is('generated_sound') && { audio: 'generate' }),
    ...(images !== undefined && { image_inputs: images }),
    ...(members.length > 0 && { rerank: members }),
    ...(fetched !== undefined && fetched !== usuallyFetches(found) && { fetches_urls: fetched }),
    ...(purposes !== undefined && { embedding_tasks: purposes }),
    ...(is('moderates') && { moderates: true }),
    ...(maker !== undefined && { images: maker }),
    ...(isNot('several_images') && { several_images: false }),
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

/** What the server fetches by address; undefined where that is not known. */
function fetchedBy(findings: readonly Finding[]): boolean | 'https' | undefined {
  const https = fetchesBy('https', findings)
  if (https !== true) return https
  const http = fetchesBy('http', findings)
  return http === undefined ? undefined : http || 'https'
}

function fetchesBy(scheme: 'https' | 'http', findings: readonly Finding[]): boolean | undefined {
  const given = findings.find(({ name }) => name === 'given_url')
  const own = foundIn(findings)(`${scheme}_urls`)
  // An address at which something is tells more than one at which nothing is.
  const value = given?.what.endsWith(scheme) === true && own !== 'ignored' ? given.found : own
  return value === 'yes' ? true : value === 'no' ? false : undefined
}

/** By the protocol of text that is asked first. */
function usuallyFetches(found: Found): boolean {
  return speaksChat(found) || found('messages') === 'yes'
}

/**
 * Whether chat does more than responses: what is not declared is translated to chat, so that a schema holds. The gateway then keeps the
 * responses, as it would without this.
 */
function isLesser(findings: readonly Finding[]): boolean {
  const found = foundIn(findings)
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
  const chats = speaksChat(foundIn(findings))
  const names = new Set([...DECIDED.filter(name => chats && declared.has(name)), ...found])
  const wrong = [...names].flatMap(name => {
    const [now, before] = [declaration.traits[name], declared.get(name)]
    // A limit that an error does not name is not known.
    if (now === before || (now === undefined && before === DEFAULTS.get(name))) return []
    // Nothing says what holds now.
    const probes = deciders(name, before, findings)
    if (now === undefined && findings.some(one => probes.includes(one.name) && UNTOLD.has(one.found))) return []
    // The older name of the limit works, too; and a role does, where it is not known whether the other one would.
    const isOther = name === 'max_tokens_field' || (name === 'system_role' && foundIn(findings)('system') !== 'yes')
    if (isOther && findings.some(one => one.name === before && one.found === 'yes')) return []
    return [`traits.${name}: declared ${shown(before)}, found ${shown(now)}`]
  })
  const lost = SPOKEN.flatMap(([name, protocol]) => {
    const { found } = findings.find(one => one.name === name) ?? {}
    const isSpoken = protocol in declaration.speaks
    if (found === undefined || UNTOLD.has(found) || isSpoken === protocol in speaks) return []
    if (!isSpoken && OF_SOME_MODELS.has(name)) return []
    const missing = found === 'no' ? 'not found' : 'it does less than chat'
    return [`speaks.${protocol}: ${isSpoken ? 'found, and not declared' : `declared, and ${missing}`}`]
  })
  return [...wrong, ...mediaDrift(declaration, findings, traits), ...lost, ...stateDrift(findings, speaks)]
}

/** What is declared and did not show, and what the server said. */
export interface Undecided {
  readonly line: string
  /** Only some models of an upstream have it, so that this one may never show it. */
  readonly isOfSomeModels: boolean
}

export function undecided(findings: readonly Finding[], { traits, speaks }: Declared): readonly Undecided[] {
  const found = foundIn(findings)
  const chat = LIMIT_PROBES.map(({ name }) => name)
  const protocols = SPOKEN.filter(([name]) => !OF_SOME_MODELS.has(name))
  const deciding: readonly (readonly [word: string, probes: readonly string[]])[] = [
    ...('chat' in speaks && !speaksChat(found) ? [['speaks.chat', chat] as const] : []),
    ...protocols.flatMap(([name, protocol]) => (protocol in speaks ? [[`speaks.${protocol}`, [name]] as const] : [])),
    ...Object.entries(traits).map(([name, value]) => [`traits.${name}`, deciders(name, value, findings)] as const),
  ]
  return deciding.flatMap(([word, probes]) => {
    const open = findings.filter(({ name, found }) => found === 'unknown' && probes.includes(name))
    const [{ reason = 'the answer does not show it' } = {}] = open
    const names = open.map(({ name }) => name).join(', ')
    const line = `${word}: declared, and not found out (${names}): ${reason}`
    return open.length === 0 ? [] : [{ line, isOfSomeModels: OF_SOME_MODELS.has(word.replace('traits.', '')) }]
  })
}

/** The probes that decide whether a trait holds, after what others have shown. */
function deciders(name: string, value: unknown, findings: readonly Finding[]): readonly string[] {
  const found = foundIn(findings)
  switch (name) {
    case 'max_tokens_field':
      return [String(value)]
    case 'system_role':
      return found('system') === 'yes' ? [] : [String(value)]
    case 'sampling':
    case 'moderates':
    case 'several_images':
      return [name]
    case 'structured':
      return found(name) === 'no' ? ['tools'] : [name]
    case 'reasoning':
      return ['reasoning_effort']
    case 'audio':
      return ['speech', 'generated_sound'].some(probe => found(probe) === 'yes') ? [] : ['speech', 'generated_sound']
    case 'image_inputs':
      return [`image_${value}`]
    case 'rerank':
      return found(name) === 'no' ? [] : [name, ...RERANK_MEMBERS.map(member => `${name}_${member}`)]
    case 'fetches_urls':
      if (fetchedBy(findings) !== undefined) return []
      return fetchesBy('https', findings) === undefined ? ['https_urls', 'http_urls', 'given_url'] : ['http_urls']
    default:
      return []
  }
}

interface Declared {
  readonly traits: Traits
  readonly speaks: Readonly<Record<string, { readonly stateful?: false }>>
}

/** These say nothing of what is declared. */
const UNTOLD: ReadonlySet<string> = new Set(['unknown', 'off', 'not asked'])

/** Traits that only some models of an upstream can have: a refusal counts where the model answers the rest of the protocol; and probes of protocols that few speak. */
const OF_SOME_MODELS: ReadonlySet<string> = new Set([
  ...['moderations', 'makes_images', 'makes_images_predict'],
  ...['audio', 'image_inputs', 'rerank', 'fetches_urls', 'embedding_tasks', 'moderates', 'images', 'several_images'],
])

function mediaDrift(
  { traits }: Declaration,
  findings: readonly Finding[],
  declared: Declared['traits'],
): readonly string[] {
  const { audio, image_inputs: images, rerank = [], moderates, embedding_tasks: tasks, several_images } = declared
  const found = foundIn(findings)
  const members = RERANK_MEMBERS.filter(
    member => found(`rerank_${member}`) === (rerank.includes(member) ? 'no' : 'yes'),
  )
  const image = images === undefined ? 'no' : found(`image_${images}`)
  const embeds = Number.isFinite(Number(found('embeddings')))
  const fetched = fetchedBy(findings)
  const maker = declared.images === undefined ? traits.images : found(`makes_images_${declared.images}`)
  const wrong: Readonly<Record<string, boolean>> = {
    audio: traits.audio !== undefined && audio === undefined,
    image_inputs: embeds && image === 'no' && traits.image_inputs !== images,
    rerank: found('rerank') === 'yes' && members.length > 0,
    fetches_urls: fetched !== undefined && fetched !== (declared.fetches_urls ?? usuallyFetches(found)),
    embedding_tasks:
      tasks === undefined
        ? traits.embedding_tasks !== undefined
        : refusesPurposes(found, tasks.field, Object.values(tasks.words)),
    // What may judge need not.
    moderates: moderates === true && found('moderates') === 'no',
    images: maker === 'no' || (declared.images === undefined && maker !== undefined),
    several_images: found('several_images') === (several_images === false ? 'yes' : 'no'),
  }
  return Object.keys(wrong).flatMap(name =>
    wrong[name] === true
      ? [`traits.${name}: declared ${shown(declared[name as keyof Traits])}, found ${shown(now(name))}`]
      : [],
  )

  function now(name: string): unknown {
    return name === 'fetches_urls' ? fetched : traits[name]
  }
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
