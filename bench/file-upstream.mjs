// An upstream that takes files and forgets them, and gives as many bytes as a file is called: `file-1048576`.
// usage: node bench/file-upstream.mjs PORT
import { createServer } from 'node:http'

const PIECE = Buffer.alloc(64 * 1024, 0x61)

const server = createServer((request, response) => {
  if (request.method === 'POST') take(request, response)
  else give(Number(/file-(\d+)/.exec(request.url)?.[1] ?? 0), response)
})
server.requestTimeout = 0
server.listen(Number(process.argv[2]), '127.0.0.1')

function take(request, response) {
  let size = 0
  request.on('data', bytes => {
    size += bytes.length
  })
  request.on('end', () => {
    const about = { object: 'file', created_at: 1, filename: 'bench', purpose: 'user_data', status: 'processed' }
    const body = JSON.stringify({ id: `file-${request.headers['x-bench-size'] ?? size}`, bytes: size, ...about })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
}

function give(size, response) {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
  let left = size
  const pump = () => {
    while (left > 0) {
      const piece = left < PIECE.length ? PIECE.subarray(0, left) : PIECE
      left -= piece.length
      if (!response.write(piece)) {
        response.once('drain', pump)
        return
      }
    }
    response.end()
  }
  pump()
}
