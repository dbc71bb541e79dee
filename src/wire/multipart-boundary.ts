import { MultipartError } from './multipart-problems.js'
import { isToken, parseParameters } from './parameters.js'

/** RFC 2046 §5.1.1: 1 to 70 `bchars`, the last not a space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{1,70}$/
/** Characters that writers leave unquoted although the grammar requires quotes. Every reader agrees on them. */
const HARMLESS = /[:/=?]/g

/**
 * The boundary in a `content-type` (RFC 2046 §5.1.1, RFC 7578 §4.1). Throws {@link MultipartError} if the type is not
 * `multipart/<subtype>`, or the boundary is missing, duplicated, or read differently by different parsers.
 */
export function boundaryOf(contentType: string | undefined, subtype = 'form-data'): string {
  const type = contentType === undefined ? undefined : parseParameters(contentType)
  if (type === undefined && contentType !== undefined && /^\s*multipart\//i.test(contentType)) {
    throw new MultipartError('content-type', 'The content type is malformed.')
  }
  if (type?.value !== `multipart/${subtype}`) {
    throw new MultipartError('content-type', `The content type must be multipart/${subtype}.`)
  }
  const boundary = type.parameters.get('boundary')
  const isExtended = [...type.parameters.keys()].some(name => name.startsWith('boundary*'))
  if (boundary === undefined && !isExtended) {
    throw new MultipartError('content-type', 'The content type has no boundary.')
  }
  // Readers disagree on escapes and on the forms of RFC 2231.
  const isPlain = boundary?.quoted ? boundary.value === boundary.written : isToken(bareOf(boundary?.value))
  if (
    boundary === undefined ||
    isExtended ||
    !isPlain ||
    !BOUNDARY.test(boundary.value) ||
    boundary.value.endsWith(' ')
  ) {
    throw new MultipartError('content-type', 'The boundary of the content type is not one of RFC 2046.')
  }
  return boundary.value
}

function bareOf(value = ''): string {
  return value.replace(HARMLESS, '-')
}
