export { type DocumentPath, parsePathText, pathText } from '../core/path-text.js'
