import { countedBy } from '../../codecs/index.js'
import { sentText } from '../../codecs/sent-text.js'
import { clientName } from '../../core/client-name.js'
import { type Codec, callsOf, type RequestHead, type Target } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { parseExact } from '../../core/exact-json.js'
import type { Carry } from '../../core/fields.js'
import { isObject, type JsonObject } from '../../core/json.js'
import type { Translation } from '../../core/plan.js'
import { untranslatable } from '../../core/refusals.js'
import { shownName } from '../../core/shown-name.js'

/** A request in the upstream's protocol, and what of it was left out on the way. */
export interface TranslatedBody {
  readonly document: JsonObject
  /** Headers that go with it beside the upstream's own: flat name, value list. */
  readonly headers: readonly string[]
  /** `name: why`. */
  readonly lost: readonly string[]
  /** How many calls it takes, each with such a body. */
  readonly calls: number
}

interface Ask {
  readonly body: Uint8Array
  /** The client's name for the model, and the upstream's. */
  readonly model: { readonly asked: string; readonly sent: string }
  readonly stream: boolean
}

/** Translates a body as the kernel does. Throws {@link GatewayError} where a codec refuses it. */
export function translateBody({ server, client, traits, strict }: Translation, ask: Ask): TranslatedBody {
  const body = parseExact(Buffer.from(ask.body).toString('utf8'))
  if (!isObject(body)) throw new GatewayError('bad_request', 'The body must be a JSON object.')
  const lost: string[] = []
  const lose = (name: string, why: string): void => {
    if (strict) throw untranslatable(shownName(name), why)
    lost.push(`${name}: ${why}`)
  }
  const isCount = client.operation === 'count'
  const carries: Readonly<Record<string, Carry>> = (isCount ? countedBy(client) : client).client.carries
  // Counting has no table of its own: what it leaves out is reported by its place.
  const fields = 'fields' in server.server ? server.server.fields : {}
  const target: Target<string> = {
    model: ask.model.sent,
    traits,
    lose: (field, at, why) => {
      const carry = carries[field]
      const name = at ?? clientName(fields, field, body)
      const reason = why ?? reasonOf(carry)
      if (typeof carry === 'object' && 'refused' in carry) throw untranslatable(name, reason)
      if (why === undefined && typeof carry === 'object' && 'approximated' in carry) return
      if (!isCount) lose(name, reason)
      // Settings change no count.
      else if (at !== undefined && (why !== undefined || carry !== 'carried')) lost.push(`${at}: ${reason}`)
    },
  }
  const head: RequestHead = { model: ask.model.asked, stream: ask.stream, header: () => undefined }
  const request = server.server.decodeRequest(body, head)
  if (!isCount) for (const { field, why } of request.left) lose(field, why)
  return { ...encode(client, request, target), lost, calls: callsOf(client.client, request, traits) }
}

/** The two codecs of a translation are of one operation, so the request is of the kind that this one takes. */
function encode(
  client: Codec,
  request: ReturnType<Codec['server']['decodeRequest']>,
  target: Target<string>,
): Pick<TranslatedBody, 'document' | 'headers'> {
  if ((client.operation === 'text' || client.operation === 'count') && 'turns' in request) {
    const isCount = client.operation === 'count'
    const sent = sentText(request, target, (isCount ? countedBy(client) : client).protocol, isCount).request
    const headers = client.client.headers?.(sent, target) ?? []
    return { document: client.client.encodeRequest(sent, target), headers }
  }
  const encodeRequest = client.client.encodeRequest as (request: unknown, target: Target<string>) => JsonObject
  return { document: encodeRequest.call(client.client, request, target), headers: [] }
}

function reasonOf(carry: Carry | undefined): string {
  if (typeof carry !== 'object') return 'it is unknown there'
  return 'dropped' in carry ? carry.dropped : 'refused' in carry ? carry.refused : carry.approximated
}
