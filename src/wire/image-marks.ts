import { isObject, type Json, parseJson } from '../core/json.js'

/** Larger bodies with a mark are said to show images: that is what makes bodies large. */
const MAX_PARSED_BYTES = 262_144
/** Containers in one another; deeper ones are not looked at. */
const MAX_DEPTH = 8

/** Without one of these a body shows none. In texts the quotes are escaped. */
const MARKS = ['"image_url"', '"input_image"', '"image"', '"inlineData"', '"inline_data"', '"fileData"', '"file_data"']
const TYPES: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image'])
const LISTS = ['messages', 'input', 'contents']
const DATA = ['inlineData', 'inline_data', 'fileData', 'file_data']

/** Whether a request in JSON shows the model images. */
export function showsImages(body: Buffer): boolean {
  if (!MARKS.some(mark => body.includes(mark))) return false
  if (body.length > MAX_PARSED_BYTES) return true
  const document = parseJson(body.toString('utf8'))
  return isObject(document) && LISTS.some(name => isShown(document[name], 0))
}

function isShown(value: Json | undefined, depth: number): boolean {
  if (depth > MAX_DEPTH) return false
  if (Array.isArray(value)) return value.some(one => isShown(one, depth + 1))
  if (!isObject(value)) return false
  if (TYPES.has(value.type)) return true
  const data = DATA.map(name => value[name]).find(isObject)
  const type = data?.mimeType ?? data?.mime_type
  if (typeof type === 'string' && type.startsWith('image/')) return true
  return isShown(value.content, depth + 1) || isShown(value.parts, depth + 1) || isShown(value.output, depth + 1)
}
