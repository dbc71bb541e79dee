import { deepEqual } from 'node:assert/strict'
import t from 'tap'
import { FormData, Response } from 'undici'
import type { FormBody } from '../../src/kernel/body.js'
import type { Call } from '../../src/kernel/call.js'
import { Cancellation } from '../../src/kernel/cancellation.js'
import { formAsJson } from '../../src/kernel/form-json.js'
import { MultipartForm } from '../../src/wire/multipart-form.js'
import { fc } from '../helpers/property.js'

// Forms as JSON, held against the same form as another reader of forms finds it.

const LIMITS = { parts: 100, field: 1024, fields: 4096, head: 1024, headers: 8 }
const NAMES = ['a', 'b', 'é', 'list[]', 'c[d]', 'c[e]'] as const

type Part = readonly [name: string, value: string | Uint8Array]

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom('', 'x', 'ü "', 'two\r\nlines', '{"a":1}')),
  fc.tuple(fc.constantFrom('file', 'a', 'list[]'), fc.uint8Array({ maxLength: 20 })),
)

/** Memory is not what is tested here. */
const LEASE = { bytes: 0, reserve: () => undefined, release: () => undefined }
const CALL = { memory: LEASE, bodyMemory: LEASE, cancellation: new Cancellation() } as unknown as Call

/** As the platform writes it. */
function written(parts: readonly Part[]): Response {
  const form = new FormData()
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([value as Uint8Array<ArrayBuffer>], { type: 'audio/wav' }), 'a.wav')
  }
  return new Response(form)
}

function bodyOf(bytes: Buffer, boundary: string): FormBody {
  const form = new MultipartForm(boundary, { control: [], limits: LIMITS })
  form.push(bytes)
  form.end()
  const texts = new Map(form.fields.map(field => [field.start, field]))
  const parts = [...form.fields, ...form.files]
    .toSorted((one, other) => one.start - other.start)
    .map(one => ({ part: one, field: texts.get(one.start), from: 0 }))
  const spool = { length: bytes.length, read: () => [bytes.subarray(0, 7), bytes.subarray(7)] }
  return { type: 'form', spool, form: { boundary, parts, close: 0, bare: true } } as unknown as FormBody
}

/** The same by the form data of the platform. */
async function expected(
  answer: Response,
  head: string,
  fields: ReadonlyMap<string, string | undefined>,
): Promise<unknown> {
  const document: Record<string, unknown> = {}
  for (const [name, value] of await answer.formData()) {
    if (fields.has(name) && fields.get(name) === undefined) continue
    const own = typeof value === 'string' ? value : head + Buffer.from(await value.arrayBuffer()).toString('base64')
    const text = fields.get(name) ?? own
    if (name.startsWith('c[')) document.c = { ...(document.c as object), [name.charAt(2)]: text }
    else if (name === 'list[]') document.list = [...((document.list as string[]) ?? []), text]
    else document[name] = name in document ? [document[name], text].flat() : text
  }
  return document
}

t.test(
  'a form as JSON has what another reader finds in it: texts, lists, members, and files as data URLs or base64',
  async () => {
    const changes = fc.constantFrom<ReadonlyMap<string, string | undefined>>(
      new Map(),
      new Map([['a', 'other']]),
      new Map([['c[d]', undefined]]),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('json' as const, 'json-base64' as const),
        changes,
        async (parts, as, fields) => {
          const form = written(parts)
          const boundary = form.headers.get('content-type')?.split('boundary=')[1] ?? ''
          const bytes = Buffer.from(await form.clone().arrayBuffer())
          const body = await formAsJson(CALL, bodyOf(bytes, boundary), as, fields)
          const wanted = await expected(form, as === 'json' ? 'data:audio/wav;base64,' : '', fields)
          deepEqual(JSON.parse(String(body.bytes)), wanted)
        },
      ),
      { numRuns: 1000 },
    )
  },
)
