import { SimulatorError } from '../errors.js'
import type { Fields } from './fields.js'
import { tooLong } from './refusals.js'

const MAX_STOP_SEQUENCES = 4

/** How a stream is wanted. */
export interface StreamOptions {
  readonly includeUsage: boolean
}

/** Nothing where no stream is wanted. */
export function readStream(body: Fields): StreamOptions | undefined {
  const options = body.fields('stream_options')
  if (body.boolean('stream')) return { includeUsage: options?.boolean('include_usage') ?? false }
  if (options === undefined) return undefined
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  throw new SimulatorError(400, message, { param: 'stream_options' })
}

/** One stop sequence or up to four. */
export function readStop(body: Fields): readonly string[] {
  const stops = body.strings('stop')
  if (stops.length > MAX_STOP_SEQUENCES) throw tooLong('stop', MAX_STOP_SEQUENCES, stops.length)
  return stops
}
