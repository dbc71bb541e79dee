import { createHash } from 'node:crypto'
import { drawFilm, drawSheet, drawThumbnail, type Film } from '../../film/film.js'
import type { ByteStream, Call, Headers } from '../../protocol.js'
import { Seed } from '../../seed.js'
import { cut, type Task } from '../../tasks/task.js'
import { rangeOf } from '../range.js'
import { videoOf } from './begin.js'

export type Variant = 'video' | 'thumbnail' | 'spritesheet'

/** So many bytes count as an event, for faults. */
const CHUNK_BYTES = 512

const DRAWN: Readonly<Record<Variant, readonly [type: string, draw: (film: Film) => Buffer]>> = {
  video: ['video/mp4', drawFilm],
  thumbnail: ['image/png', drawThumbnail],
  spritesheet: ['image/png', drawSheet],
}

/** What came of a task, or the range of it that a request wants (RFC 9110, section 14). The same for every process. */
export function artefact(task: Task, variant: Variant, call: Pick<Call, 'headers'>, more: Headers = {}): ByteStream {
  const [type, draw] = DRAWN[variant]
  const video = videoOf(task)
  return ranged(draw({ ...video, prompt: cut(task.prompt), seed: new Seed(task.seed) }), type, call, more)
}

/** Bytes as servers of files send them: with a tag, whole or in part. */
export function ranged(file: Buffer, type: string, { headers }: Pick<Call, 'headers'>, more: Headers = {}): ByteStream {
  const etag = `"${createHash('sha256').update(file).digest('hex').slice(0, 32)}"`
  const always = { 'content-type': type, 'accept-ranges': 'bytes', etag, ...more }
  const isSame = headers['if-range'] === undefined || headers['if-range'] === etag
  const range = isSame ? rangeOf(headers.range, file.length) : undefined
  if (range === undefined) return stream(file, 200, always)
  const partial = { ...always, 'content-range': `bytes ${range.first}-${range.last}/${file.length}` }
  return stream(file.subarray(range.first, range.last + 1), 206, partial)
}

function stream(bytes: Buffer, status: number, headers: Headers): ByteStream {
  return { kind: 'bytes', status, headers, length: bytes.length, pieces: pieces() }

  function* pieces(): Generator<Buffer> {
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES)
  }
}
