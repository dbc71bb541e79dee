// A thread that asks for /livez of each port every 20 ms, each time on a connection of its own, and tells how long each took
// when it is asked to stop: readers at work in the thread beside it do not count.
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const EVERY_MS = 20
/** Of each port. */
const times = workerData.map(() => [])
let isOver = false

parentPort.once('message', () => {
  isOver = true
  parentPort.postMessage(times)
})
while (!isOver) {
  for (const index of workerData.keys()) void one(index)
  await setTimeout(EVERY_MS)
}

async function one(index) {
  const since = performance.now()
  const socket = connect({ host: '127.0.0.1', port: workerData[index] })
  socket.on('error', () => undefined)
  socket.write('GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  await new Promise(resolve => socket.resume().once('close', resolve))
  times[index].push(performance.now() - since)
}
