/** Names the build of the page's files. The build puts it in place of the word. */
export const buildId = "PAGE_BUILD_ID";
