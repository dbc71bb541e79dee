#!/usr/bin/env node
// Serves gateway.yaml, and starts again whenever a source file changes. Arguments go to `gateway serve`:
//   npm run dev
//   npm run dev -- my.yaml --port 9000
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ROOT, watchSources } from './watch-sources.mjs'

const given = process.argv.slice(2)
const args = ['--enable-source-maps', 'bin/gateway.js', 'serve', ...(given.length > 0 ? given : ['gateway.yaml'])]
let server

await watchSources('build', async paths => {
  // The gateway itself watches its configuration.
  if (paths.length > 0 && !paths.some(path => /^(simulator\/)?src\//.test(path))) return
  await stop()
  server = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
})

process.on('exit', () => server?.kill('SIGTERM'))

async function stop() {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  // The first signal lets open streams finish, the second one does not.
  server.kill('SIGTERM')
  server.kill('SIGINT')
  await ended
}
