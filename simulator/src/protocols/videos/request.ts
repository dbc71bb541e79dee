import { Fields } from '../../families/fields.js'
import { readPrompt } from '../../families/options.js'
import { unknownParameter, wrongType, wrongValue } from '../../families/refusals.js'
import type { FormFile } from '../../form.js'
import type { Json } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { Video } from './begin.js'

export const MAX_SECONDS = 60
const SIDES = { min: 64, max: 2048 }
const REFERENCE = 'input_reference'
/** How a form writes the members of an object. */
const MEMBERS = ['image_url', 'file_id'].map(name => `${REFERENCE}[${name}]`)
const FIELDS = ['model', 'prompt', 'seconds', 'size', REFERENCE]
const MODEL = 'sim-video'

/** Reads a request of the compatible videos protocol; throws {@link SimulatorError}. */
export function readVideo({ body: object, files }: Pick<Call, 'body' | 'files'>): Video {
  const body = new Fields(object).only(files === undefined ? FIELDS : [...FIELDS, ...MEMBERS])
  const prompt = readPrompt(body)
  if (files === undefined) readReference(body)
  else checkFiles(files)
  return {
    model: modelIn(body),
    prompt,
    ...sizeOf('size', body.string('size') ?? '720x1280'),
    seconds: secondsOf('seconds', body.string('seconds') ?? '4'),
  }
}

/** Relays take what any of the services behind them may know, and leave the rest to those. */
export function readRelayed({ body: object }: Pick<Call, 'body'>): Video {
  const body = new Fields(object)
  const prompt = readPrompt(body)
  return { model: modelIn(body), prompt, ...sizeIn(body), seconds: secondsIn(body) }
}

function sizeIn(body: Fields) {
  const [width, height] = [body.raw('width'), body.raw('height')]
  if (width !== undefined && height !== undefined) return sizeOf('width', `${width}x${height}`)
  return sizeOf('size', body.string('size') ?? '720x1280')
}

/** `seconds`, a text; or else `duration`, a number or a text. */
function secondsIn(body: Fields): number {
  const seconds = body.string('seconds')
  if (seconds !== undefined) return secondsOf('seconds', seconds)
  return secondsOf('duration', textOf('duration', body.raw('duration') ?? 4))
}

/** The model that a body names, or the usual one. */
export function modelIn(body: Fields): string {
  return body.string('model') ?? MODEL
}

/** `1280x720`: both even, for chroma has half as many samples. */
export function sizeOf(name: string, size: string): { readonly width: number; readonly height: number } {
  const [, width = 0, height = 0] = /^(\d{1,4})[x*:](\d{1,4})$/.exec(size)?.map(Number) ?? []
  const fit = (side: number): boolean => side >= SIDES.min && side <= SIDES.max && side % 2 === 0
  if (fit(width) && fit(height)) return { width, height }
  const message = `Invalid value: '${size.slice(0, 100)}'. Expected <width>x<height>, each even and from ${SIDES.min} to ${SIDES.max}.`
  throw wrongValue(name, message)
}

export function secondsOf(name: string, text: string): number {
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (seconds >= 1 && seconds <= MAX_SECONDS) return seconds
  throw wrongValue(name, `Invalid value: '${text.slice(0, 100)}'. Expected a whole number from 1 to ${MAX_SECONDS}.`)
}

/** A number that may come as a text as well. */
export function textOf(name: string, value: Json): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw wrongType(name, 'an integer', `a ${typeof value}`)
}

/** An object that says where an image is. */
function readReference(body: Fields): void {
  const reference = body.fields(REFERENCE)?.only(['image_url', 'file_id'])
  if (reference === undefined) return
  if ((reference.string('image_url') === undefined) !== (reference.string('file_id') === undefined)) return
  throw wrongValue(REFERENCE, "Provide exactly one of 'image_url' and 'file_id'.")
}

function checkFiles(files: readonly FormFile[]): void {
  for (const { name, type } of files) {
    if (name !== REFERENCE) throw unknownParameter(name)
    if (!/^(image\/(jpeg|png|webp)|video\/mp4)$/.test(type)) {
      throw wrongValue(REFERENCE, `Unsupported mimetype ('${type.slice(0, 100)}').`)
    }
  }
}
