"""The SFTP server inside (`native/init/sftp`), by a raw client and by OpenSSH's."""
