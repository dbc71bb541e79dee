// The folders of node_modules that users get: what the lock file installs without packages of development, if this system has it.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export function shippedPackages(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(packages).flatMap(([path, { dev, link }]) =>
    path.startsWith('node_modules/') && dev !== true && link !== true && existsSync(join(root, path)) ? [path] : [],
  )
}
