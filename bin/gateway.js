#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'
import { execArgv } from 'node:process'
import { fileURLToPath } from 'node:url'
import v8 from 'node:v8'
import vm from 'node:vm'
import { loadBundle } from './bundle.js'

// Flags that Node was started with win.
const isSaid = word => execArgv.some(flag => flag.includes(word))
// By default V8 creates objects of busy requests as old ones as soon as many of them have outlived one collection. Then
// whatever a finished request refers to stays until the next full collection.
if (!isSaid('pretenuring')) v8.setFlagsFromString('--no-allocation-site-pretenuring')
// V8 collects the dead buffers of relayed files late: src/core/dead-buffers.ts calls this sooner. A new context has it.
if (!isSaid('expose-gc') && !isSaid('expose_gc')) {
  v8.setFlagsFromString('--expose-gc')
  globalThis.gc = options => {
    globalThis.gc = vm.runInNewContext('globalThis.gc')
    globalThis.gc?.(options)
  }
}

const at = file => fileURLToPath(new URL(file, import.meta.url))
const bundle = at('../dist/bundle/main.cjs')
const bundled = existsSync(bundle)
if (bundled || existsSync(at('../dist/cli/main.js'))) {
  // What is compiled is kept beside the code, because others could write into a shared folder.
  const compiled = at('../dist/compile-cache')
  // Of the dependencies Node 22.8 and newer keep it.
  module.enableCompileCache?.(compiled)
  const { main } = bundled ? loadBundle(bundle, compiled) : await import('../dist/cli/main.js')
  process.exitCode = await main(process.argv.slice(2), process)
} else {
  const installed = existsSync(at('../node_modules'))
  console.error(`error: the gateway is not built yet; run: ${installed ? '' : 'npm ci && '}npm run build`)
  process.exitCode = 2
}
