import { join, relative, resolve, sep } from 'node:path'
import { folderOf, nameIn } from './config-place.js'
import { packageRoot } from './package-root.js'
import { withSlashes } from './platform.js'

/** What the names of files begin with that come with the gateway, and are included. */
const SHIPPED = 'shipped:'

/** The name of a file of a configuration for other machines: see {@link nameIn}. `source`: the configuration. */
export function documentName(source: string, path: string): string {
  const root = packageRoot()
  return path.startsWith(join(root, 'routes', sep)) ? SHIPPED + withSlashes(relative(root, path)) : nameIn(source, path)
}

/** Where it would be here. */
export function documentPath(source: string, name: string): string {
  if (name === '') return source
  return name.startsWith(SHIPPED) ? join(packageRoot(), name.slice(SHIPPED.length)) : resolve(folderOf(source), name)
}
