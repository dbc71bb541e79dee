import { MultipartError } from './multipart-problems.js'
import { isToken, parseParameters } from './parameters.js'

/** RFC 2046 §5.1.1: `bchars`, at most 70 of them, of which the last is no space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{1,70}$/
/** What writers leave without quotes although the grammar asks for them. No reader takes these for anything else. */
const HARMLESS = /[:/=?]/g

/**
 * The boundary that a `content-type` names (RFC 2046 §5.1.1, RFC 7578 §4.1). Throws {@link MultipartError} where the type
 * is not `multipart/<subtype>`, or the boundary is missing, stands twice, or is one that readers understand differently.
 */
export function boundaryOf(contentType: string | undefined, subtype = 'form-data'): string {
  const type = contentType === undefined ? undefined : parseParameters(contentType)
  if (type === undefined && contentType !== undefined && /^\s*multipart\//i.test(contentType)) {
    throw new MultipartError('content-type', 'The content type is malformed.')
  }
  if (type?.value !== `multipart/${subtype}`) {
    throw new MultipartError('content-type', `The content type has to be multipart/${subtype}.`)
  }
  const boundary = type.parameters.get('boundary')
  const isExtended = [...type.parameters.keys()].some(name => name.startsWith('boundary*'))
  if (boundary === undefined && !isExtended) {
    throw new MultipartError('content-type', 'The content type names no boundary.')
  }
  // An escape is read in two ways, and so are the forms of RFC 2231.
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
