import { Readable } from 'node:stream'
import { HYPHEN } from '../core/ascii.js'
import { isOutOfDescriptors, outOfDescriptors } from '../core/descriptors.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange, Route } from '../core/plan.js'
import { StoreError } from '../core/store.js'
import type { Violation } from '../core/violation.js'
import type { Spool } from '../stores/spool.js'
import type { Edit } from '../wire/json-splice.js'
import type { MultipartEvent } from '../wire/multipart.js'
import { boundaryOf } from '../wire/multipart-boundary.js'
import { MultipartChanges, type ReadForm } from '../wire/multipart-changes.js'
import { MultipartEdit } from '../wire/multipart-edit.js'
import { type FormPart, MultipartForm } from '../wire/multipart-form.js'
import { MultipartError, type MultipartRule } from '../wire/multipart-problems.js'
import type { FormBody } from './body.js'
import type { Call } from './call.js'
import { changeFields } from './changes.js'
import { takenValues } from './taken-values.js'
import { Upload } from './upload.js'

/** Largest head of a part with its boundary line, bytes, and most headers in it. */
const HEAD = { head: 16 * 1024, headers: 32 } as const

/**
 * Reads a form as it arrives, no faster than it can be stored. Fields may come in any order. After any failure the
 * call releases what was stored when it ends.
 */
export async function readForm(call: Call, route: Route): Promise<FormBody> {
  const { request } = call
  const { parts, field, fields } = route.limits
  const boundary = withFormErrors(() => boundaryOf(request.headers['content-type']), undefined)
  const form = new MultipartForm(boundary, { control: route.control, limits: { ...HEAD, parts, field, fields } })
  const places = new Places()
  const spool = call.kernel.spooler.open(call.key)
  call.cancellation.add({ cancel: () => spool.letGo() })
  for await (const chunk of chunksOf(call, call.maxBody)) {
    places.take(withFormErrors(() => form.push(chunk), form))
    await spooled(spool.write(chunk))
  }
  places.take(withFormErrors(() => form.end(), form))
  spool.end()
  const read = { boundary, parts: places.of(form), close: places.close, bare: places.bare }
  return {
    type: 'form',
    spool,
    form: read,
    document: documentOf(read),
    files: form.files.map(({ start, end, beginning }) => ({ size: end - start, head: beginning })),
    fields: form.fields,
    value: name => form.field(name)?.value,
  }
}

/** What becomes of a form for this exchange. */
export function formFor({ form }: FormBody, call: Call, exchange: Exchange): MultipartChanges {
  const changes = new MultipartChanges(form)
  const { model, named, route } = call
  const isOther = !named || exchange.model !== model
  if (route?.model?.from === 'form' && isOther && call.namesModel) changes.set(route.model.name, exchange.model)
  changeFields(call, exchange, changes)
  const taken = exchange.shape === undefined ? [] : takenValues(exchange.shape, call, exchange)
  for (const [path, value] of taken) changes.set(path.join('.'), value)
  exchange.form?.(changes)
  return changes
}

/** A form's bytes for this exchange, and their number. */
export function sentForm(
  body: FormBody,
  call: Call,
  exchange: Exchange,
): { readonly length: number; readonly bytes: Readable } {
  const { spool } = body
  const changes = formFor(body, call, exchange)
  for (const { path } of exchange.shape?.sent ?? []) changes.remove(path)
  const edits = withFormErrors(() => changes.edits(), undefined)
  const edit = new MultipartEdit(edits)
  return {
    length: spool.length + edit.growth,
    bytes: Readable.from(edited(spool, edits), { objectMode: false }),
  }
}

async function* edited(spool: Spool, edits: readonly Edit[]): AsyncGenerator<Buffer, void, void> {
  const edit = new MultipartEdit(edits)
  for await (const chunk of spool.read()) yield* edit.push(chunk)
}

/** Records where the parts of a form begin, boundary lines included. */
class Places {
  readonly #from = new Map<number, number>()
  close = 0
  bare = false
  #at = 0

  take(events: readonly MultipartEvent[]): void {
    for (const event of events) {
      if (this.#at === 0 && event.type !== 'preamble') this.bare = event.bytes[0] === HYPHEN
      if (event.type === 'part') this.#from.set(event.start, this.#at)
      else if (event.type === 'close') this.close = this.#at
      this.#at += event.bytes.length
    }
  }

  /** All parts, in the order of the body. */
  of({ fields, files }: MultipartForm): ReadForm['parts'] {
    const known = new Map<number, FormPart>([...fields, ...files].map(part => [part.start, part]))
    const texts = new Map(fields.map(field => [field.start, field]))
    return [...this.#from].flatMap(([start, from]) => {
      const part = known.get(start)
      return part === undefined ? [] : [{ part, field: texts.get(start), from }]
    })
  }
}

/**
 * An object with a member for each name: the value of a text field, or a file's properties. A repeated name
 * becomes a list, and so does a name that ends in `[]` (the brackets are removed).
 */
function documentOf({ parts }: ReadForm): Readonly<Record<string, unknown>> {
  const document: Record<string, unknown> = Object.create(null)
  for (const { part, field } of parts) {
    const { name, head, start, end } = part
    const value = field?.value ?? { filename: head.filename, content_type: head.type, size: end - start }
    const member = name.endsWith('[]') ? name.slice(0, -2) : name
    const before = document[member]
    if (before === undefined) document[member] = member === name ? value : [value]
    else if (Array.isArray(before)) before.push(value)
    else document[member] = [before, value]
  }
  return document
}

/** A form's violations in terms of forms: files and texts instead of objects and strings. */
export function formViolations(found: readonly Violation[], { document }: FormBody): readonly Violation[] {
  return found.map(violation => {
    const [, param = '', name = '', index, size] = /^(([^.[]*)(?:\[(\d+)\])?)(\.size)?$/.exec(violation.param) ?? []
    const member = document[name]
    const part: unknown = index === undefined ? member : Array.isArray(member) ? member[Number(index)] : undefined
    if (size !== undefined && violation.rule === 'range') {
      return { param, rule: 'range', message: `The file '${param}' is empty, or not of the required size.` }
    }
    if (violation.rule !== 'type' || part === undefined || size !== undefined) return violation
    const message =
      typeof part === 'string' ? `The field '${param}' must be a file.` : `The field '${param}' must be text.`
    return {
      param,
      rule: 'type',
      message: Array.isArray(part) ? `The field '${param}' must occur only once.` : message,
    }
  })
}

/** The pieces of a request's body. Ends early if the call has been answered. */
async function* chunksOf(call: Call, maxBytes: number): AsyncGenerator<Buffer, void, void> {
  const upload = new Upload(call.request, maxBytes)
  call.cancellation.add({ cancel: () => void upload.destroy() })
  try {
    for await (const chunk of upload) {
      call.cancellation.throwIfCancelled()
      call.tally.bytesIn = upload.size
      yield chunk as Buffer
    }
  } finally {
    call.tally.bytesIn = upload.size
  }
}

const CODES: Readonly<Partial<Record<MultipartRule, GatewayError['code']>>> = {
  'content-type': 'unsupported_media_type',
  duplicate: 'duplicate_parameter',
  variant: 'invalid_parameter',
  control: 'invalid_parameter',
}

/** Turns a form's faults into errors for the client. */
function withFormErrors<T>(read: () => T, form: MultipartForm | undefined): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MultipartError)) throw error
    const { rule, field, limit, message } = error
    const param = rule === 'content-type' && form === undefined ? 'content-type' : field
    throw new GatewayError(CODES[rule] ?? 'bad_request', message, {
      param,
      ...(limit === undefined ? {} : { limit }),
      ...(rule === 'variant' && { familyCode: 'unknown_parameter' }),
      cause: error,
    })
  }
}

async function spooled(written: Promise<void>): Promise<void> {
  try {
    await written
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    if (isOutOfDescriptors(cause)) throw outOfDescriptors(cause)
    throw new GatewayError('unavailable', 'The gateway has no room for a request of this size. Try again soon.', {
      retryAfter: 1000,
      limit: 'spool',
      cause,
    })
  }
}
