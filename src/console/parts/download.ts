/** Has the browser save what is at the address, without leaving the page whatever the answer is. */
export function download(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
