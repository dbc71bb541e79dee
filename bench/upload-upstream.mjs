// An upstream that reads requests of any size and answers each shortly, in the protocol of its path.
// usage: node bench/upload-upstream.mjs PORT
import { createServer } from 'node:http'
import { PROTOCOLS, protocolOf } from './protocols.mjs'

const documents = new Map(Object.values(PROTOCOLS).map(protocol => [protocol, JSON.stringify(protocol.document)]))
const image = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
const content = { role: 'model', parts: [image] }
documents.set(PROTOCOLS.generate, JSON.stringify({ candidates: [{ content, finishReason: 'STOP', index: 0 }] }))

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.end(documents.get(protocolOf(request.url)))
  })
})
server.requestTimeout = 0
server.listen(Number(process.argv[2]), '127.0.0.1')
