#!/usr/bin/env node
import { existsSync } from 'node:fs'

if (existsSync(new URL('../dist/cli/main.js', import.meta.url))) {
  const { main } = await import('../dist/cli/main.js')
  process.exitCode = await main(process.argv.slice(2), process)
} else {
  const installed = existsSync(new URL('../node_modules', import.meta.url))
  console.error(`error: the gateway is not built yet; run: ${installed ? '' : 'npm ci && '}npm run build`)
  process.exitCode = 2
}
