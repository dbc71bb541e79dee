import type { Json, JsonObject } from '../../core/json.js'
import type { View } from './view.js'

/** What a kind serves, and what an address had before its calls. */
export interface Spoken {
  readonly protocols: Readonly<Record<string, Json>>
  /** The part of the address that is in each call here. */
  readonly prefix: string
}

/** `speaks` for a provider of one's own: what it may serve, and the paths that differ. */
export function speaksOf(custom: View, data: View, spoken: Spoken): JsonObject {
  const words = data.child('requests').entries()
  const serves = words.map(([word, list]) => ({ word, protocols: list.texts() }))
  return { ...restricted(custom.child('allowed_requests'), serves, spoken), ...moved(custom, serves, spoken) }
}

interface Serving {
  readonly word: string
  readonly protocols: readonly string[]
}

/** The protocols whose words are not allowed are off; without the list all are. */
function restricted(allowed: View, serves: readonly Serving[], spoken: Spoken): Record<string, Json> {
  if (!allowed.exists) return {}
  const isAllowed = (word: string): boolean => allowed.child(word).flag() === true
  const off = serves.filter(({ word }) => !isAllowed(word)).flatMap(({ protocols }) => protocols)
  const made: Record<string, Json> = {}
  for (const protocol of off) if (spoken.protocols[protocol] !== undefined) made[protocol] = 'off'
  for (const [word, view] of allowed.entries()) noteStreams(word, view, isAllowed)
  allowed.find('exact', 'what it may not serve is off under speaks of the upstream')
  const isLone = isAllowed('responses') && !isAllowed('chat_completion')
  const known = serves.find(({ word }) => word === 'responses')?.protocols[0]
  if (isLone && known !== undefined && spoken.protocols[known] === undefined)
    made[known] = `POST ${spoken.prefix}/responses`
  return made
}

function noteStreams(word: string, view: View, isAllowed: (word: string) => boolean): void {
  const plain = /^(.+)_stream$/.exec(word)?.[1]
  if (plain === undefined) view.flag()
  else if (view.flag() === isAllowed(plain)) return
  else view.find('approximate', 'streams are served where plain answers are')
}

/** Paths below the address, per kind of request; that of a stream may differ. */
function moved(custom: View, serves: readonly Serving[], spoken: Spoken): Record<string, Json> {
  const overrides = custom.child('request_path_overrides')
  const made: Record<string, Json> = {}
  for (const { word, protocols } of serves) {
    const protocol = protocols.find(one => spoken.protocols[one] !== undefined) ?? protocols[0]
    const [plain, stream] = [overrides.child(word), overrides.child(`${word}_stream`)].map(view => callOf(view, spoken))
    if (protocol === undefined || (plain ?? stream) === undefined) continue
    const usual = spoken.protocols[protocol]
    const call = plain ?? (typeof usual === 'string' ? usual : stream)
    made[protocol] = stream === undefined || stream === call ? (call ?? null) : { call: call ?? null, stream }
  }
  return made
}

function callOf(view: View, { prefix }: Spoken): string | undefined {
  const path = view.text()
  if (path === undefined || path === '') return undefined
  if (!/^\/?[\w.~%/@:-]+$/.test(path) || path.includes('://')) {
    view.find('manual', 'write an upstream of its own for another address, and its call under speaks')
    return undefined
  }
  view.find('exact', 'its call is under speaks of the upstream')
  const method = String(view.path.at(-1)).startsWith('list_models') ? 'GET' : 'POST'
  return `${method} ${prefix}${path.startsWith('/') ? '' : '/'}${path}`
}
