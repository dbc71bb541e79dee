/** The subtest that ends a file, where several run in one process. */
export const END_OF_FILE = 'end of file'
