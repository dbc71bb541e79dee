import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { Response } from 'undici'
import type { MultipartEvent } from '../../src/wire/multipart.js'
import { cut, places } from '../wire/cuts.js'
import { newForm, read } from '../wire/multipart-reading.js'
import { fuzz } from './run.js'

/** What a part says: its name, its file's name, and its content. */
type Said = readonly [name: string, filename: string | undefined, content: string]

const CONTENTS = [
  'x',
  'é',
  '\r\n',
  '\n',
  '\r',
  '--',
  '--B',
  '\r\n--',
  '\r\n--B',
  '\r\n--Bx',
  '\r\n-',
  ' ',
  '\0',
  ':',
  '\ufeff',
]
const content = fc.array(fc.constantFrom(...CONTENTS), { maxLength: 6 }).map(pieces => pieces.join(''))
const name = fc
  .array(fc.constantFrom('a', 'model', 'file', 'é', ' ', '[]', '%22', '%0D', '%', ';', '=', "'", '😀'), {
    minLength: 1,
    maxLength: 3,
  })
  .map(pieces => pieces.join(''))
const type = fc.constantFrom(
  '',
  'content-type: text/plain\r\n',
  'Content-Type: image/png\r\n',
  'content-type:text/plain; charset=utf-8\r\n',
)

const part = fc.tuple(name, fc.option(name, { nil: undefined }), type, content).map(([named, file, header, held]) => {
  const filename = file === undefined ? '' : `; filename="${file}"`
  return `--B\r\nContent-Disposition: form-data; name="${named}"${filename}\r\n${header}\r\n${held}\r\n`
})
const body = fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => `${parts.join('')}--B--\r\n`)

/** A few bytes away from a form. */
const mutant = fc
  .tuple(
    body,
    fc.array(fc.tuple(fc.nat(2000), fc.nat(4), fc.constantFrom('', ...CONTENTS, '"', ';', ' ')), {
      maxLength: 2,
    }),
  )
  .map(([text, edits]) =>
    edits.reduce((result, [place, removed, added]) => {
      const at = place % (result.length + 1)
      return result.slice(0, at) + added + result.slice(at + removed)
    }, text),
  )

/** What another reader finds; undefined where it takes the body for none. */
async function independent(bytes: Buffer): Promise<readonly Said[] | undefined> {
  const headers = { 'content-type': 'multipart/form-data; boundary=B' }
  const form = await new Response(bytes, { headers }).formData().catch(() => undefined)
  if (form === undefined) return undefined
  return Promise.all(
    Array.from(form, async ([named, value]): Promise<Said> => {
      if (typeof value === 'string') return [named, undefined, value]
      return [named, value.name, utf8(Buffer.from(await value.arrayBuffer()))]
    }),
  )
}

/** What ours finds, in the other one's terms: it undoes what browsers escape, and takes byte order marks off names. */
function ours(events: readonly MultipartEvent[]): readonly Said[] {
  const said: Said[] = []
  let head: readonly [string, string | undefined] = ['', undefined]
  let held: Buffer[] = []
  for (const event of events) {
    if (event.type === 'part') {
      head = [
        unescaped(event.head.name ?? ''),
        event.head.filename === undefined ? undefined : unescaped(event.head.filename),
      ]
      held = []
    } else if (event.type === 'data') held.push(event.bytes)
    else if (event.type === 'part-end') said.push([...head, utf8(Buffer.concat(held))])
  }
  return said
}

const utf8 = (bytes: Buffer): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
const unescaped = (text: string): string =>
  text.replace(/^\ufeff/, '').replaceAll(/%(0A|0D|22)/gi, percent => decodeURIComponent(percent))

fuzz('forms that both we and another reader take have the same parts, cut anywhere', {
  inputs: fc.tuple(mutant, places),
  async check([text, at]) {
    const bytes = Buffer.from(text)
    const { events, error } = read(newForm(), cut(bytes, at))
    deepEqual(error?.rule, read(newForm(), [bytes]).error?.rule)
    // Before the first boundary the other reader takes one for it that stands within a line.
    const isComparable = error === undefined && text.startsWith('--B\r\n')
    const found = isComparable ? await independent(bytes) : undefined
    if (found !== undefined) deepEqual(ours(events), found)
  },
})

/** Backslashes are escapes to one reader and themselves to the next. */
const label = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map(text => text.replaceAll('\\', '/'))

fuzz('what another library writes is read as it was meant', {
  inputs: fc.tuple(
    fc.array(fc.tuple(label, content, fc.boolean()), {
      maxLength: 5,
    }),
    places,
  ),
  async check([fields, at]) {
    const form = new FormData()
    for (const [named, held, isFile] of fields) {
      if (isFile) form.append(`f_${named}`, new Blob([held]), 'x.bin')
      else form.append(`t_${named}`, held)
    }
    const written = new globalThis.Response(form)
    const boundary = /boundary=(.*)$/.exec(written.headers.get('content-type') ?? '')?.[1] ?? ''
    const bytes = Buffer.from(await written.arrayBuffer())
    const { events, error } = read(newForm(boundary), cut(bytes, at))
    deepEqual(error, undefined)
    const meant = Array.from(form, ([named, value]) => [named, typeof value === 'string' ? undefined : value.name])
    deepEqual(
      ours(events).map(([named, filename]) => [named, filename]),
      meant,
    )
    const texts = Array.from(form, ([, value]) => value).filter(value => typeof value === 'string')
    const read8 = ours(events)
      .filter(([, filename]) => filename === undefined)
      .map(([, , held]) => held)
    deepEqual(
      read8,
      texts.map(text => utf8(Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n')))),
    )
  },
})
