import { MAX_FILE_BYTES } from '../../config/open.js'
import { type Answer, ask } from '../../net/ask.js'
import { messageOf } from '../problems.js'
import { SourceFault } from './fault.js'
import { type Fetch, MAX_SIGNATURE_BYTES, type Place } from './fetching.js'

/** A document over HTTP, on condition that it is another one (RFC 9110 §13). */
export const fetchHttp: Fetch = async (place, tag) => {
  const answer = await get(place, place.address, MAX_FILE_BYTES, {
    ...(tag.etag === undefined ? {} : { 'if-none-match': tag.etag }),
    ...(tag.etag !== undefined || tag.modified === undefined ? {} : { 'if-modified-since': tag.modified }),
  })
  if (answer.status === 304) return undefined
  expectDocument(answer, '')
  const { etag, 'last-modified': modified } = answer.headers
  return {
    bytes: answer.bytes,
    tag: { ...(etag === undefined ? {} : { etag }), ...(modified === undefined ? {} : { modified }) },
    ...(place.isSigned ? { signature: await signatureOf(place) } : {}),
  }
}

async function signatureOf(place: Place): Promise<Buffer> {
  const url = new URL(place.address)
  url.pathname += '.sig'
  const answer = await get(place, url.href, MAX_SIGNATURE_BYTES, {})
  expectDocument(answer, 'its signature: ')
  return answer.bytes
}

async function get(
  { authorization, sign, egress, timeoutMs }: Place,
  url: string,
  mostBytes: number,
  conditions: Readonly<Record<string, string>>,
): Promise<Answer> {
  const headers = {
    ...{ 'accept-encoding': 'identity', 'user-agent': 'model-gateway', ...conditions },
    ...(authorization === undefined ? {} : { authorization: authorization.reveal() }),
    ...(await sign?.(url)),
  }
  try {
    return await ask({ url, method: 'GET', headers }, timeoutMs, egress, mostBytes)
  } catch (error) {
    const message = messageOf(error)
    throw new SourceFault(/^the answer has more than/.test(message) ? 'refused' : 'failed', message)
  }
}

function expectDocument({ status, headers, text }: Answer, what: string): void {
  const { location, 'content-encoding': encoding = 'identity' } = headers
  if (status >= 300 && status < 400 && location !== undefined)
    throw new SourceFault('failed', `${what}the server answered ${status}; redirects are not followed`)
  if (status !== 200) throw new SourceFault('failed', `${what}the server answered ${status}${codeIn(text)}`)
  if (encoding !== 'identity')
    throw new SourceFault('failed', `${what}the answer is encoded, and no coding was asked for`)
}

/** The code of an error as object stores write it. */
function codeIn(text: string): string {
  const code = /<Code>(\w{1,80})<\/Code>/.exec(text)?.[1]
  return code === undefined ? '' : ` (${code})`
}
