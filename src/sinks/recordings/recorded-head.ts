import { isSecretQuery, type RecordedExchange } from '../../core/recording.js'
import type { Cleaner } from './cleaner.js'
import type { RecordedBegin } from './whole-exchange.js'

/** Headers of requests that a recording has: none that says who asks. */
const REQUEST_HEADERS = /^(content-type|accept|content-encoding|.+-(version|beta))$/
/** Headers of answers that no recording has. */
const LEFT_OUT =
  /cookie|authorization|token$|api-key|secret|organi[sz]ation|project|account|^(connection|upgrade|sec-websocket-accept|keep-alive|transfer-encoding|content-length|date|server|via|alt-svc|cf-.*|report-to|nel|strict-transport-security)$/

/** What the recordings of all exchanges begin with; the body of the answer is to follow. */
export function recordedHead(
  { about, request, status, headers, headAt, time }: RecordedBegin,
  cleaner: Cleaner,
): RecordedExchange & { readonly recorded: string } {
  const sent = flatPairs(request.headers).filter(([name]) => REQUEST_HEADERS.test(name))
  const received = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || LEFT_OUT.test(name) ? [] : [[name, cleaner.text(String(value))] as const],
  )
  return {
    recorded: new Date(time).toISOString(),
    request: {
      method: request.method,
      url: readable(cleaner.text(withoutSecrets(about.upstream.origin + request.path))),
      headers: Object.fromEntries(sent.map(([name, value]) => [name, cleaner.text(value)])),
      ...(request.body === null ? {} : { body: cleaner.body(Buffer.from(request.body).toString('utf8')) }),
    },
    response: { status, headers: Object.fromEntries(received), after_ms: headAt },
  }
}

function flatPairs(headers: readonly string[]): readonly (readonly [string, string])[] {
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1] ?? ''] as const] : []))
}

/** An address that can be read again: a host that is masked gets a name. */
function readable(url: string): string {
  return URL.canParse(url) ? url : url.replace(/^(\w+:\/\/)[^/?#]*/, '$1masked.invalid')
}

function withoutSecrets(url: string): string {
  const parsed = new URL(url)
  const names = [...parsed.searchParams.keys()].filter(isSecretQuery)
  for (const name of names) parsed.searchParams.delete(name)
  return names.length === 0 ? url : parsed.href
}
