// An upstream whose tasks continue for ever, but for those of the model `done`, which are ready at once. GET /asked tells how
// often it was asked for the state of a task.
// usage: node bench/task-upstream.mjs PORT
import { createServer } from 'node:http'

let made = 0
let asked = 0

createServer((request, response) => {
  const body = []
  request.on('data', bytes => body.push(bytes))
  request.on('end', () => {
    if (request.url.endsWith('/content')) return send(response, 'video/mp4', Buffer.alloc(1024))
    send(response, 'application/json', Buffer.from(JSON.stringify(about(request, Buffer.concat(body).toString()))))
  })
}).listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'))

function about({ method, url }, body) {
  if (url === '/asked') return { asked }
  if (method === 'POST') {
    const { model } = JSON.parse(body)
    return { id: `${model}_${++made}`, object: 'video', model, status: 'queued', progress: 0, created_at: 1 }
  }
  asked += 1
  const id = url.split('/')[3]
  const stands = id.startsWith('done') ? { status: 'completed', progress: 100 } : { status: 'in_progress', progress: 5 }
  return { id, object: 'video', ...stands }
}

function send(response, type, bytes) {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length })
  response.end(bytes)
}
