// A thread that sends one large request from each of many clients at once, and tells how each was answered.
import { request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

const { port, key, lane, mib, clients } = workerData
/** Begins as an image does; its base64 is in documents. */
const FILE = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.alloc(mib * 1024 * 1024, 'x'),
])

const document = model => {
  const media = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${FILE.subarray(0, (FILE.length * 3) / 4).toString('base64')}` },
  }
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'x' }, media] }]
  return { path: '/v1/chat/completions', type: 'application/json', body: JSON.stringify({ model, messages }) }
}
const form = (path, fields) => {
  const head = Object.entries(fields).map(
    ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file =
    '--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n'
  const body = Buffer.concat([Buffer.from(head.join('') + file), FILE, Buffer.from('\r\n--b--\r\n')])
  return { path, type: 'multipart/form-data; boundary=b', body }
}
const LANES = {
  form: () => form('/v1/images/edits', { model: 'm-generate', prompt: 'x' }),
  document: () => document('m-messages'),
  relay: () => document('m-relay'),
}

const { path, type, body } = LANES[lane]()
const headers = { authorization: `Bearer ${key}`, 'content-type': type, 'content-length': Buffer.byteLength(body) }
const since = performance.now()
const answers = await Promise.all(Array.from({ length: clients }, send))
parentPort.postMessage({ answers, seconds: (performance.now() - since) / 1000 })

function send() {
  return new Promise(resolve => {
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
    sent.on('error', error => resolve(error.code)).end(body)
  })
}
