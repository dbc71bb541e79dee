import { keyHeaders } from '../../core/hidden-headers.js'
import type { JsonObject } from '../../core/json.js'
import { Masker } from '../../core/masks.js'
import type { Translation, Upstream } from '../../core/plan.js'
import type { CaptureConfig } from '../../core/receipts.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView } from '../../kernel/stages.js'
import { Captured, type Content } from '../content/captured.js'
import { type FieldRow, fieldRows } from './field-rows.js'
import { keptHeaders, type Pairs, shownHeaders } from './headers.js'

/** The client's, those of the last request to an upstream, and those of the answer. */
interface Headers<Form> {
  readonly request: Form
  readonly upstream?: Form
  readonly answer: Form
}

/** What is kept of a request beside its log line and its times. */
export interface Detail<Form = readonly string[]> {
  /** Without secrets. Absent where too many requests came at once. */
  readonly headers?: Headers<Form>
  /** Of a translated request whose body was small enough to be read whole. */
  readonly fields: readonly FieldRow[]
  /** Of keys with `capture`, masked as that says. */
  readonly content?: Content
}

/** Most of a body, and of an answer, that is kept to be shown, bytes. */
const MAX_CONTENT_BYTES = 32 * 1024

/** What is gathered while the request runs. */
class Gathered {
  /** Until it is sent. */
  document: JsonObject | undefined
  translation: Translation | undefined
  fields: readonly FieldRow[] = []
  sent: readonly string[] | undefined
  upstream: Upstream | undefined
  answer: readonly string[] = []
  captured: Captured<CaptureConfig> | undefined
}

const GATHERED = slot<Gathered>('console: gathered')
/** Bytes of content that requests in flight hold. */
const held = { held: 0 }
const maskers = new WeakMap<CaptureConfig, Masker>()

function gathered(call: Call): Gathered {
  const known = call.get(GATHERED)
  if (known !== undefined) return known
  const made = new Gathered()
  call.set(GATHERED, made)
  return made
}

export function admitted(call: Call): void {
  const capture = call.caller?.capture
  if (capture === undefined) return
  const captured = new Captured(capture, MAX_CONTENT_BYTES, held)
  gathered(call).captured = captured
  call.taps.add(captured)
}

export function arrived(call: Call, body: Body): void {
  if (body.type !== 'bytes') return
  if (body.document !== undefined) gathered(call).document = body.document
  call.get(GATHERED)?.captured?.arrived(body.bytes)
}

/** `headers`: as they go to the upstream; a flat name, value list. */
export function sent({ call, exchange }: AttemptView, headers: readonly string[]): void {
  const known = gathered(call)
  known.sent = headers
  known.upstream = exchange.upstream
  const { translation } = exchange
  if (translation === known.translation && known.document === undefined) return
  const { document } = known
  known.translation = translation
  known.fields = translation === undefined || document === undefined ? [] : fieldRows(translation, document)
  // All of it that is needed from here on.
  known.document = undefined
}

export function answered(call: Call, headers: readonly string[]): void {
  gathered(call).answer = headers
}

/** All of it, with headers where asked for; what was held is free. */
export function detailOf(call: Call, withHeaders: boolean): Detail {
  const known = call.get(GATHERED) ?? new Gathered()
  call.set(GATHERED, undefined)
  const { fields, captured } = known
  return {
    ...(withHeaders && { headers: headersOf(call, known) }),
    fields,
    ...(captured !== undefined && { content: captured.finish(maskerOf(captured.config)) }),
  }
}

function headersOf(call: Call, { sent, upstream, answer }: Gathered): Headers<readonly string[]> {
  const { request, route, generation } = call
  const secrets = upstream === undefined ? [] : generation.reach(upstream).secrets
  return {
    request: keptHeaders(request.rawHeaders, { names: keyHeaders(route?.caller ?? []), secrets }),
    ...(sent !== undefined && { upstream: keptHeaders(sent, { names: [], secrets }, upstream?.shownHeaders) }),
    answer: keptHeaders(answer, { names: [], secrets }),
  }
}

/** As people may see it. */
export function shownDetail({ headers, ...detail }: Detail): Detail<Pairs> {
  if (headers === undefined) return detail
  const { request, upstream, answer } = headers
  const shown = {
    request: shownHeaders(request),
    ...(upstream !== undefined && { upstream: shownHeaders(upstream) }),
    answer: shownHeaders(answer),
  }
  return { ...detail, headers: shown }
}

function maskerOf(config: CaptureConfig): Masker {
  const masker = maskers.get(config) ?? new Masker([...config.mask, 'keys'], config.words)
  maskers.set(config, masker)
  return masker
}
