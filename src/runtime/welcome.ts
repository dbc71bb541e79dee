import type { HttpExchange } from '../transport/exchange.js'

/** A page for people that lists the entry points. It shows nothing of this gateway's keys, models and upstreams. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Model gateway</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
  code { background: #8882; padding: 0 0.3em; border-radius: 3px; }
  td { padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }
</style>
<h1>Model gateway</h1>
<p>This is an API for programs. It runs; a program that calls it needs a key, and one of these base addresses:</p>
<table>
  <tr><td>chat completions, responses, embeddings, images, audio<td>this address and <code>/v1</code>
  <tr><td>message blocks<td>this address alone; the client adds <code>/v1/messages</code>
  <tr><td>native generate<td>this address alone; the client adds <code>/v1beta/models/…</code>
</table>
<p>The key goes where the client puts it, such as <code>authorization: Bearer KEY</code>. <code>GET /v1/models</code> lists the
  models that a key may use.</p>
<p>Whether it runs: <a href="/livez">/livez</a>. Whether it takes work: <a href="/readyz">/readyz</a>.</p>
<p>On the machine where it runs, <code>gateway routes</code> lists its endpoints, <code>gateway explain</code> says what
  becomes of a request, and the start printed a request to try.</p>
</html>
`

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-length': String(Buffer.byteLength(PAGE)),
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  vary: 'accept',
}

/** Answers a browser that opens `/`; false for every other request, and where the path is `owned` by a route. */
export function answerWelcome(exchange: HttpExchange, owned: () => boolean): boolean {
  const { method, target, headers } = exchange
  if (target !== '/' || (method !== 'GET' && method !== 'HEAD')) return false
  if (headers.accept?.includes('text/html') !== true || owned()) return false
  exchange.head(200, Object.entries(HEADERS).flat())
  exchange.end(method === 'HEAD' ? undefined : PAGE)
  return true
}
