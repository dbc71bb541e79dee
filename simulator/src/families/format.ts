import type { Format } from '../text/conversation.js'
import type { Fields } from './fields.js'

/** The form of the answer. A schema stands in `json_schema`, or beside the type. */
export function readFormat(format: Fields | undefined): Format {
  const type = format?.oneOf('type', ['text', 'json_object', 'json_schema'])
  if (format === undefined || type === undefined || type === 'text') return { type: 'text' }
  if (type === 'json_object') return { type: 'json' }
  const holder = format.fields('json_schema') ?? format
  holder.need('name', holder.string)
  return { type: 'schema', schema: holder.fields('schema')?.object ?? {} }
}
